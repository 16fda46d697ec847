package plan_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// schemaKey is a key of the schema, as stconfig lists it.
type schemaKey struct{ at, kind string }

func schemaKeys(t *testing.T) (keys []schemaKey) {
	t.Helper()
	list, err := os.ReadFile("../stconfig/testdata/schema-keys.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		at, kind, _ := strings.Cut(strings.TrimSpace(line), " ")
		keys = append(keys, schemaKey{at, kind})
	}
	return keys
}

// valuesOf are values of each kind that a key is tried with. At least one of them is right for every key that authors
// may set, and others are beyond what authors may set.
var valuesOf = map[string][]string{
	"flag":   {"true", "false"},
	"number": {"-9", "-1", "0", "1", "5", "64", "1024", "4000", "100000", "2147483647"},
	"text": {`""`, `"evil"`, `"../.."`, `"/etc"`, `"~/new"`, `"dark"`, `"never"`, `"metadata"`, `"simple"`, `"external"`,
		`"sendonly"`, `"receiveencrypted"`, `"alphabetic"`, `"inOrder"`, `"ioctl"`, `"tls"`, `"basic"`, `"fake"`,
		`".stversions"`, `"100000"`, `"5"`, `"` + otto + `"`, `"` + nora + `"`},
	"texts": {`[]`, `["dynamic"]`, `["tcp://192.0.2.7:22000"]`, `["evil"]`, `["*"]`},
}

// memberIn names the member of each list that a key is tried in.
var memberIn = map[string]string{"ignores": "photos-x4kd", "params": "keep", "remoteIgnoredDevices": otto,
	"pendingDevices": otto, "ignoredFolders": "other", "pendingFolders": "other"}

// identityIn names the field that identifies a member of each list whose members are not devices. "" says that no field
// does.
var identityIn = map[string]string{"folders": "id", "ignoredFolders": "id", "pendingFolders": "id", "entries": ""}

// within is the text of a template that is merged at the first of the names, and brings a value to the place that they
// name. folder is the folder that stands in for all.
func within(names []string, value, folder string) string {
	if len(names) < 2 {
		return value
	}
	inside := within(names[1:], value, folder)
	if names[1] != "*" {
		return fmt.Sprintf("{%q: %s}", names[1], inside)
	}
	member, is := memberIn[names[0]]
	switch {
	case names[0] == "folders":
		member = folder
	case !is:
		member = nora
	}
	if names[0] == "ignores" || names[0] == "params" {
		return fmt.Sprintf("{%q: %s}", member, inside)
	}
	identity, is := identityIn[names[0]]
	if !is {
		identity = "deviceID"
	}
	if identity != "" && len(names) > 2 && names[2] != identity {
		inside = strings.Replace(inside, "{", fmt.Sprintf("{%q: %q, ", identity, member), 1)
	}
	return "[" + inside + "]"
}

// withEveryField adds the fields of the schema that the document of the newest daemon lacks: other versions have them.
func withEveryField(t *testing.T, doc stconfig.Value, keys []schemaKey) stconfig.Value {
	t.Helper()
	first := map[string]stconfig.Value{"flag": stconfig.Boolean(false), "number": stconfig.Literal("25"),
		"text": stconfig.Text(""), "texts": stconfig.List(), "": stconfig.List()}
	for _, key := range keys {
		if key.at == "version" { // No template is stored with this key.
			continue
		}
		at, kind := key.at, key.kind
		for list, member := range map[string]string{"folders.*": "folders.photos-x4kd", "devices.*": "devices." + nora} {
			if rest, is := strings.CutPrefix(at, list); is {
				at = member + rest
			}
		}
		if list, _, is := strings.Cut(at, ".*"); is {
			at, kind = list, ""
		}
		if at == "ignores" {
			doc = doc.With("ignores", stconfig.Obj(stconfig.Member{Name: "photos-x4kd", Value: stconfig.List()}))
			continue
		}
		if !stconfig.Lookup(doc, keyOf(t, at)).Exists() {
			doc = stconfig.Replace(doc, keyOf(t, at), first[kind])
		}
	}
	return doc
}

// A field of the schema that no test drew by chance could have been free for authors. Each key is visited here, with
// values of its kind, in a person's folder and in a new one. testdata/author-keys.txt tells for which keys some value
// of an author goes out (`author`), and which wait for an admin whatever the value is (`admin`). A key that the schema
// gets has no word in the file until somebody has decided about it.
func TestEveryKeyOfTheSchemaIsJudgedForAuthors(t *testing.T) {
	const file = "testdata/author-keys.txt"
	keys := schemaKeys(t)
	scene := guardScene(t)
	scene.registered[nora] = "Nora"
	scene.observed = withEveryField(t, scene.observed, keys)
	start := scene.startOfNew(t)
	var lines []string
	for _, key := range keys {
		word := scene.wordFor(t, key, start)
		if word == "none" && key.at != "version" {
			t.Errorf("no value of %s changes anything: it is not tried", key.at)
		}
		lines = append(lines, key.at+" "+word)
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	decided := strings.Split(strings.TrimSpace(string(content)), "\n")
	for _, line := range lines {
		if !slices.Contains(decided, line) {
			t.Errorf("what authors may set has changed, or the key is new: %s has no line %q", file, line)
		}
	}
	if len(lines) != len(decided) {
		t.Errorf("%s has %d lines, and the schema %d keys", file, len(decided), len(lines))
	}
}

// wordFor tries a key of the schema: "author" if some value goes out, "admin" if all that change something wait, "none"
// if no value changes anything. What goes out has to be among authorsLines. start is that of startOfNew.
func (c *scene) wordFor(t *testing.T, key schemaKey, start stconfig.Value) (word string) {
	t.Helper()
	names, word := strings.Split(key.at, "."), "none"
	for _, folder := range []string{"photos-x4kd", "new"} {
		if folder == "new" && names[0] != "folders" {
			continue
		}
		values := valuesOf[key.kind]
		if key.at == "folders.*.id" { // A new folder may have every ID; authorsLines has this one.
			values = []string{`"new"`}
		}
		for _, value := range values {
			made := fleet.Template{ID: 1, SavedRole: author, Key: names[0], Op: fleet.OpMerge,
				Text: within(names, value, folder)}
			if folder == "new" && key.at != "folders.*.path" {
				made.Text = strings.Replace(made.Text, "{", `{"path": "~/new", `, 1)
			}
			_, p, err := c.plan([]fleet.Template{made})
			if err != nil {
				continue
			}
			for _, change := range p.Changes {
				if change.Sendable() {
					c.isInLines(t, made, change)
				}
				word = wordAfter(names, change, start, word)
			}
		}
	}
	return word
}

// startOfNew is the new folder of an author who says nothing about it but its path. Every other field starts with the
// value that the daemon would give it.
func (c *scene) startOfNew(t *testing.T) stconfig.Value {
	t.Helper()
	_, p, err := c.plan([]fleet.Template{{ID: 1, SavedRole: author, Key: "folders", Op: fleet.OpMerge,
		Text: `[{"id": "new", "path": "~/new"}]`}})
	if err != nil || len(p.Changes) == 0 || !p.Changes[0].Sendable() {
		t.Fatalf("a new folder of an author gives %v, %v", p.Changes, err)
	}
	return p.Changes[0].To.Without("path").Without("id")
}

// wordAfter returns the word for a key, after one more change.
func wordAfter(names []string, change plan.Change, start stconfig.Value, word string) string {
	stconfig.Leaves(change.Key, change.To, func(at stconfig.Key, value stconfig.Value) {
		switch {
		case !isAt(at, value, names):
		case change.Key.String() == "folders.new" && stconfig.LookupAt(change.Key, start, at).Equal(value):
		case change.Sendable():
			word = "author"
		case word == "none":
			word = "admin"
		}
	})
	return word
}

// isAt tells whether a place is the one that names of the schema name, or below it, or the list that it is in.
func isAt(at stconfig.Key, value stconfig.Value, names []string) bool {
	if at.Len() < len(names) && (names[at.Len()] != "*" || value.Kind() != stconfig.Array || value.Len() == 0) {
		return false
	}
	for i, name := range names[:min(at.Len(), len(names))] {
		if name != "*" && at.At(i).Name != name {
			return false
		}
	}
	return true
}
