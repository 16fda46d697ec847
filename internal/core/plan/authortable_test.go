package plan_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// authorsLines are all lines "KEY VALUE" that an author's template may bring about in the guard's scene, in other words
// than the table. FOLDER is a person's folder, NEW one that the template makes.
var authorsLines = regexp.MustCompile(`^(` + strings.Join([]string{
	`options\.max(Send|Recv)Kbps (0|6[4-9]|[7-9]\d|[1-9]\d{2,9})`,
	`options\.(limitBandwidthInLan|restartOnWakeup|setLowPriority|startBrowser) (true|false)`,
	`options\.reconnectionIntervalS ([5-9]|[1-9]\d{1,2}|[12]\d{3}|3[0-5]\d\d|3600)`,
	`options\.progressUpdateIntervalS (-1|\d{1,3}|[12]\d{3}|3[0-5]\d\d|3600)`,
	`options\.keepTemporariesH ([1-9]\d{0,2}|[1-7]\d{3}|8[0-6]\d\d|87[0-7]\d|878[0-4])`,
	`options\.(relaysEnabled|natEnabled) false`,
	`gui\.theme "(default|dark|black|light)"`,
	`devices\.PEER\.(name ".*"|paused (true|false)|compression "(never|metadata|always)"|addresses \["dynamic"\])`,
	`devices\.PEER\.max(Send|Recv)Kbps (0|6[4-9]|[7-9]\d|[1-9]\d{2,9})`,
	`(FOLDER|NEW)\.(label ".*"|(paused|fsWatcherEnabled|disableSparseFiles|disableTempIndexes) (true|false))`,
	`(FOLDER|NEW)\.rescanIntervalS ([6-9]\d|[1-9]\d{2,6}|[12]\d{7}|3[01]\d{6})`,
	`(FOLDER|NEW)\.(fsWatcherDelayS|pullerPauseS|scanProgressIntervalS) (-1|\d{1,3}|[12]\d{3}|3[0-5]\d\d|3600)`,
	`(FOLDER|NEW)\.order "(random|alphabetic|smallestFirst|largestFirst|oldestFirst|newestFirst)"`,
	`(FOLDER|NEW)\.blockPullOrder "(standard|random|inOrder)"`,
	`(FOLDER|NEW)\.pullerMaxPendingKiB (-1|0|[1-9]\d{3,4}|1[0-3]\d{4})`,
	`(FOLDER|NEW)\.(copiers|hashers) (\d|1[0-6])`,
	`(FOLDER|NEW)\.maxConcurrentWrites (\d|[1-5]\d|6[0-4])`,
	`(FOLDER|NEW)\.disableFsync false`,
	`(FOLDER|NEW)\.maxConflicts ([1-9]\d{0,2}|1000)`,
	`NEW\.id "new"`, `NEW\.path "~/new"`,
	`NEW\.type "(sendreceive|sendonly|receiveonly|receiveencrypted)"`,
	`NEW\.devices\.(OWN|PEER)\..*`, `NEW\.devices \[\]`,
	`NEW\.versioning\.type "(simple|trashcan|staggered)?"`, `NEW\.versioning\.fsType "(basic)?"`,
	`NEW\.versioning\.fsPath "(\.stversions)?"`, `NEW\.versioning\.params \{\}`,
	`NEW\.versioning\.cleanupIntervalS [1-9]\d{2,7}`,
	`NEW\.versioning\.params\.keep "([1-9]\d{0,2}|1000)"`,
	`NEW\.versioning\.params\.cleanoutDays "(\d|[1-9]\d{1,4})"`,
	`NEW\.versioning\.params\.maxAge "(0|[1-9]\d{4,9})"`,
}, "|") + `)$`)

// allKeys gives every field that a document of the newest daemon has, and unknown ones beside them. Those of one folder
// and one device represent all.
func allKeys(doc stconfig.Value) (keys []string) {
	parents := map[string]bool{}
	stconfig.Leaves(stconfig.Key{}, doc, func(key stconfig.Key, _ stconfig.Value) {
		text := key.String()
		if text == "version" { // No template is stored with this key.
			return
		}
		if strings.HasPrefix(text, "folders.") && !strings.HasPrefix(text, "folders.photos-x4kd.") {
			return
		}
		keys = append(keys, text)
		parents[key.Parent().String()] = true
	})
	for parent := range parents {
		for _, unknown := range []string{"evil", "newInVersion3", "scriptPath"} {
			keys = append(keys, strings.TrimPrefix(parent+"."+unknown, "."))
		}
	}
	// Keys of older daemons, members that `*` selects, and parameters.
	keys = append(keys, "options.defaultFolderPath", "options.tempIndexMinBlocks", "options.kcpNoDelay",
		"options.overwriteRemoteDeviceNamesOnConnect", "folders.photos-x4kd.pullers",
		"folders.photos-x4kd.weakHashThresholdPct",
		"folders.photos-x4kd.versioning.params.fsType", "folders.photos-x4kd.versioning.params.fsPath", "folders.*.path",
		"folders.*.paused", "folders.*.type", "folders.*.devices", "folders.*.versioning.params.keep", "devices.*.addresses",
		"devices.*.paused", "devices.*.introducer", "folders.*", "devices.*", "folders.photos-x4kd",
		"folders.photos-x4kd.devices."+storage, "devices."+storage)
	return append(keys, "folders.photos-x4kd.versioning.params.keep", "folders.photos-x4kd.versioning.params.maxAge",
		"folders.photos-x4kd.versioning.params.cleanoutDays", "folders.photos-x4kd.versioning.params.versionsPath",
		"ignores.photos-x4kd", "ldap.address", "remoteIgnoredDevices", "folders", "devices", "options", "gui", "defaults")
}

// withOlderFields adds fields that 1.19.2 has and newer daemons do not.
func withOlderFields(doc stconfig.Value) stconfig.Value {
	return doc.With("options", doc.Get("options").With("defaultFolderPath", stconfig.Text("~")).
		With("databaseTuning", stconfig.Text("auto")).With("tempIndexMinBlocks", stconfig.Literal("10")).
		With("overwriteRemoteDeviceNamesOnConnect", stconfig.Boolean(false)))
}

// TestAnAuthorSetsNoFieldOfOlderDaemons covers where new folders go, and how much memory a database takes.
func TestAnAuthorSetsNoFieldOfOlderDaemons(t *testing.T) {
	for key, text := range map[string]string{"defaultFolderPath": `"/srv"`, "databaseTuning": `"large"`,
		"tempIndexMinBlocks": `1`, "overwriteRemoteDeviceNamesOnConnect": `true`} {
		for _, saved := range []fleet.Role{author, admin} {
			c := guardScene(t)
			c.observed = withOlderFields(c.observed)
			_, p, err := c.plan([]fleet.Template{{ID: 1, Op: fleet.OpSet, Key: "options." + key, Text: text, SavedRole: saved}})
			if err != nil || len(p.Changes) != 1 || p.Changes[0].Sendable() != (saved == admin) {
				t.Errorf("%s of an %s: got %v, %v", key, saved, p.Changes, err)
			}
		}
	}
}

// TestAnAuthorOpensNoThousandConnections covers how many connections a daemon of 2.x keeps with one device. The table
// of ranges has no value for an author.
func TestAnAuthorOpensNoThousandConnections(t *testing.T) {
	for _, text := range []string{"1", "1000", "2147483647"} {
		for _, key := range []string{"devices." + peer + ".numConnections", "devices.*.numConnections",
			"defaults.device.numConnections"} {
			for _, saved := range []fleet.Role{author, admin} {
				c := guardScene(t)
				_, p, err := c.plan([]fleet.Template{{ID: 1, Op: fleet.OpSet, Key: key, Text: text, SavedRole: saved}})
				if err != nil || len(p.Changes) == 0 {
					t.Fatalf("%s %s: got %v, %v", key, text, p.Changes, err)
				}
				for _, change := range p.Changes {
					if change.Sendable() != (saved == admin) || saved == author && change.Class != plan.Held {
						t.Errorf("%s of an %s is %s: %s", change.Key, saved, change.Class, change.Reason)
					}
				}
			}
		}
	}
}

var numbers = []string{"-9", "-1", "0", "1", "2", "5", "16", "17", "59", "60", "63", "64", "65", "1000", "1001", "1024",
	"3600", "3601", "86400", "200000", "31536000", "99999999", "2147483647", "9223372036854775807", "1e3", "0.5"}

// anyValue draws JSON, mostly of the kind of the present value: what a person would write, and what an attacker would.
func anyValue(now stconfig.Value) *rapid.Generator[string] {
	texts := []string{"", "dark", "../..", "black", "fake", "basic", "external", "simple", "staggered", "receiveonly",
		"random", "inOrder", "dynamic", "tcp://192.0.2.7:22000", "~/new", "/etc", "~", "default", "always", "5", "0",
		"31536000", ".stversions", "large", "true", string(stranger), string(nora), "-"}
	return rapid.Custom(func(t *rapid.T) string {
		kind := rapid.IntRange(0, 6).Draw(t, "kind")
		if fits := map[stconfig.Kind]int{stconfig.Bool: 0, stconfig.Number: 1, stconfig.String: 6, stconfig.Array: 4,
			stconfig.Object: 5}; rapid.IntRange(0, 3).Draw(t, "fits") > 0 {
			kind = fits[now.Kind()]
		}
		switch kind {
		case 0:
			return rapid.SampledFrom([]string{"true", "false", "null"}).Draw(t, "word")
		case 1, 2:
			return rapid.SampledFrom(numbers).Draw(t, "number")
		case 3:
			return fmt.Sprint(rapid.Int64().Draw(t, "any"))
		case 4:
			return fmt.Sprintf("[%q]", rapid.SampledFrom(texts).Draw(t, "item"))
		case 5:
			return fmt.Sprintf(`{%q: %q}`, rapid.SampledFrom([]string{"a", "type", "path", "enabled"}).Draw(t, "name"),
				rapid.SampledFrom(texts).Draw(t, "member"))
		}
		return fmt.Sprintf("%q", rapid.SampledFrom(texts).Draw(t, "text"))
	})
}

// TestAnAuthorChangesOnlyWhatTheTableHas is the property of the guard: for every key, known and unknown, with any
// value, in a folder of a person and in a new one, an author's template sends nothing that these lines do not have.
func TestAnAuthorChangesOnlyWhatTheTableHas(t *testing.T) {
	c := guardScene(t)
	c.registered[nora] = "Nora"
	c.edit(fleet.OpMerge, "folders.photos-x4kd.versioning", `{"type": "staggered", "params": {"maxAge": "0"}}`)
	c.observed = withOlderFields(c.observed)
	keys := allKeys(c.observed)
	if len(keys) < 250 {
		t.Fatalf("only %d keys", len(keys))
	}
	var planned, sent int
	rapid.Check(t, func(rt *rapid.T) {
		for range 10 {
			at := rapid.SampledFrom(keys).Draw(rt, "key")
			made := fleet.Template{ID: 1, SavedRole: fleet.RoleAuthor, Key: at,
				Op: rapid.SampledFrom([]fleet.Op{fleet.OpSet, fleet.OpSet, fleet.OpMerge, fleet.OpAppend,
					fleet.OpRemove}).Draw(rt, "op"),
				Text: anyValue(stconfig.Lookup(c.observed, keyOf(t, at))).Draw(rt, "value")}
			if field, is := strings.CutPrefix(made.Key, "folders.photos-x4kd."); is && rapid.Bool().Draw(rt, "new") {
				made.Key, made.Text, made.Op = "folders.new", newFolderWith(field, made.Text), fleet.OpMerge
			}
			c := *c
			if rapid.Bool().Draw(rt, "on Windows") {
				c.facts.System = fleet.System{OS: "windows", PathSeparator: `\`, Tilde: `C:\Users\syncthing`}
			}
			_, p, err := c.plan([]fleet.Template{made})
			if err != nil {
				continue
			}
			planned++
			for _, change := range p.Sendable() {
				sent++
				c.isInLines(rt, made, change)
			}
		}
	})
	t.Logf("%d plans, %d changes sent", planned, sent)
	if planned < 40 || sent < 2 {
		t.Errorf("the cases are too few to show anything: %d plans, %d changes sent", planned, sent)
	}
}

// TestAnAuthorsStepsChangeOnlyWhatTheTableHas is the property over sequences: an author saves, edits and untags
// templates in turn, and each step is sent. A value goes back to what the person had, or it is one of the lines.
func TestAnAuthorsStepsChangeOnlyWhatTheTableHas(t *testing.T) {
	scene := guardScene(t)
	scene.registered[nora] = "Nora"
	scene.letGo = fleet.RoleAuthor
	scene.person = scene.observed
	keys := allKeys(scene.observed)
	var sent, returned int
	rapid.Check(t, func(rt *rapid.T) {
		c := *scene
		var templates []fleet.Template
		for range rapid.IntRange(2, 6).Draw(rt, "steps") {
			next := slices.Clone(templates)
			made := fleet.Template{ID: int64(len(next) + 1)}
			if at := rapid.IntRange(-2, len(next)-1).Draw(rt, "template"); at >= 0 {
				made = next[at]
				next = slices.Delete(next, at, at+1) // It lost its tag, or is replaced.
			}
			if len(next) == len(templates) || rapid.Bool().Draw(rt, "edited") {
				next = append(next, drawnTemplate(t, rt, &c, made, keys))
			}
			_, p, err := c.plan(next)
			if err != nil {
				continue
			}
			for _, change := range p.Sendable() {
				sent++
				if change.Returns {
					returned++
				}
				c.isInLines(rt, made, change)
			}
			templates = next
			c.write(templates)
		}
	})
	t.Logf("%d changes sent, %d of them return", sent, returned)
	if sent < 5 || returned < 1 {
		t.Errorf("the cases are too few to show anything: %d changes sent, %d return", sent, returned)
	}
}

// drawnTemplate is a template of an author, with the ID of a given one.
func drawnTemplate(t *testing.T, rt *rapid.T, c *scene, made fleet.Template, keys []string) fleet.Template {
	freeKeys := []string{"options.maxSendKbps", "options.maxRecvKbps", "folders.photos-x4kd.rescanIntervalS",
		"folders.photos-x4kd.maxConflicts", "devices." + peer + ".maxSendKbps", "options.setLowPriority"}
	at := rapid.SampledFrom(keys).Draw(rt, "key")
	if rapid.Bool().Draw(rt, "free") {
		at = rapid.SampledFrom(freeKeys).Draw(rt, "free key")
	}
	made.SavedRole, made.Key, made.Op = fleet.RoleAuthor, at, rapid.SampledFrom([]fleet.Op{fleet.OpSet, fleet.OpSet,
		fleet.OpMerge}).Draw(rt, "op")
	made.Text = anyValue(stconfig.Lookup(c.observed, keyOf(t, at))).Draw(rt, "value")
	if field, is := strings.CutPrefix(at, "folders.photos-x4kd."); is && rapid.Bool().Draw(rt, "new") {
		made.Key, made.Text, made.Op = "folders.new", newFolderWith(field, made.Text), fleet.OpMerge
	}
	return made
}

// newFolderWith gives a new folder in which a field, or one inside an object, has a value.
func newFolderWith(field, value string) string {
	names := strings.Split(field, ".")
	for i := len(names) - 1; i >= 0; i-- {
		value = fmt.Sprintf("{%q: %s}", names[i], value)
	}
	if names[0] == "path" || names[0] == "id" {
		return value
	}
	return `{"path": "~/new", ` + strings.TrimPrefix(value, "{")
}

var eachDevice = regexp.MustCompile(`^devices\.[A-Z2-7-]{63}`)

// isInLines checks that an author may bring a change about: each leaf of it that is not what the daemon starts with.
func (c *scene) isInLines(t interface{ Fatalf(string, ...any) }, made fleet.Template, change plan.Change) {
	start := c.observed.Get("defaults").Get("folder")
	stconfig.Leaves(change.Key, change.Sending(), func(key stconfig.Key, value stconfig.Value) {
		if was := stconfig.Lookup(c.person, key); was.Exists() && was.Equal(value) { // It returns.
			return
		}
		inNew := key.Len() > 2 && key.At(1).Name == "new"
		if inNew && key.At(2).Name != "path" && key.At(2).Name != "devices" {
			now := start
			for i := 2; i < key.Len(); i++ {
				now = now.Get(key.At(i).Name)
			}
			if now.Exists() && now.Equal(value) {
				return
			}
			for _, forced := range stconfig.Forces(stconfig.Patch(c.observed, []stconfig.Change{{Key: change.Key,
				To: change.Sending()}})) {
				if forced.Key.Equal(key) && forced.Keep.Equal(value) {
					return
				}
			}
		}
		line := eachDevice.ReplaceAllString(key.String(), "devices.PEER")
		line = strings.NewReplacer("folders.photos-x4kd", "FOLDER", "folders.docs-7hq2", "FOLDER", "folders.new", "NEW",
			string(stconfig.SampleID), "OWN",
			nora, "PEER").Replace(line) + " " + string(value.JSON())
		if !authorsLines.MatchString(line) {
			t.Fatalf("%s %q %s of an author sends %s", made.Op, made.Key, made.Text, line)
		}
	})
	if !change.Sending().Exists() && (!c.person.Exists() || stconfig.Lookup(c.person, change.Key).Exists()) {
		t.Fatalf("%s %q %s of an author takes away %s", made.Op, made.Key, made.Text, change.Key)
	}
}

// TestNoFewerVersionsForAnAuthor covers versioning of a folder that an author made.
func TestNoFewerVersionsForAnAuthor(t *testing.T) {
	for _, tc := range []struct {
		was, is string
		free    bool
	}{
		{`{}`, `{"type": "simple", "params": {"keep": "1"}}`, true},
		{`{"type": "simple", "params": {"keep": "5"}}`, `{"type": "simple", "params": {"keep": "9"}}`, true},
		{`{"type": "simple", "params": {"keep": "5"}}`, `{"type": "simple", "params": {"keep": "4"}}`, false},
		{`{"type": "simple", "params": {"keep": "5"}}`, `{"type": "simple", "params": {"keep": "0"}}`, false},
		{`{"type": "simple"}`, `{"type": "simple", "params": {"keep": "4"}}`, false},
		{`{"type": "simple", "params": {"keep": "5"}}`, `{"type": "simple", "params": {"keep": "5", "cleanoutDays": "9"}}`,
			false},
		{`{"type": "staggered"}`, `{"type": "staggered", "params": {"maxAge": "86400"}}`, false},
		{`{"type": "staggered"}`, `{"type": "staggered", "params": {"maxAge": "0"}}`, true},
		{`{"type": "staggered", "params": {"maxAge": "0"}}`, `{"type": "staggered", "params": {"maxAge": "31536000"}}`,
			false},
		{`{"type": "simple"}`, `{"type": ""}`, false},
		{`{"type": "staggered"}`, `{"type": "trashcan"}`, false},
		{`{"type": "staggered"}`, `{"type": "staggered", "cleanupIntervalS": 1}`, false},
		{`{"type": "staggered"}`, `{"type": "staggered", "params": {"versionsPath": "~/Sync/old"}}`, false},
	} {
		template := func(versioning string) []fleet.Template {
			return []fleet.Template{
				merge(1, 10, author, "folders.finance", `{"path": "~/finance", "versioning": `+versioning+`}`),
			}
		}
		c := newScene(t)
		c.consent = func(plan.Change) bool { return true }
		c.write(template(tc.was))
		c.consent = nil
		_, p, err := c.plan(template(tc.is))
		if err != nil || len(p.Changes) == 0 || (len(p.Sendable()) == len(p.Changes)) != tc.free {
			t.Errorf("%s, then %s: got %v, %v, want it sent: %t", tc.was, tc.is, p.Changes, err, tc.free)
		}
	}
}

// TestWhatReturnsIsAskedForByWhoLetItGo covers an author who takes away an admin's template.
func TestWhatReturnsIsAskedForByWhoLetItGo(t *testing.T) {
	for _, tc := range []struct {
		key, text string
		letGo     fleet.Role
		free      bool
	}{
		{"options.natEnabled", `false`, fleet.RoleAuthor, false},
		{"options.natEnabled", `false`, fleet.RoleOperator, false},
		{"options.natEnabled", `false`, fleet.RoleAdmin, true},
		{"options.maxSendKbps", `4711`, fleet.RoleAuthor, true},
		{"folders.docs-7hq2.devices", `[{"deviceID": "` + nora + `"}]`, fleet.RoleAuthor, false},
		{"folders.docs-7hq2.devices", `[{"deviceID": "` + nora + `"}]`, fleet.RoleAdmin, true},
		{"folders.docs-7hq2.maxConflicts", `20`, fleet.RoleAuthor, true},
		{"folders.docs-7hq2.maxConflicts", `-1`, fleet.RoleAuthor, true},
		{"folders.docs-7hq2.ignorePerms", `true`, fleet.RoleAuthor, false},
	} {
		c := newScene(t)
		c.registered[nora] = "Nora"
		c.write([]fleet.Template{merge(1, 10, admin, tc.key, tc.text)})
		c.letGo = tc.letGo
		_, p, err := c.plan(nil)
		if err != nil || len(p.Changes) == 0 {
			t.Fatalf("%s: got %v, %v", tc.key, p.Changes, err)
		}
		if got := len(p.Sendable()) == len(p.Changes); got != tc.free {
			t.Errorf("%s let go by an %s: got %v, want it sent: %t", tc.key, tc.letGo, p.Changes, tc.free)
		}
	}
}

// TestAnAdminWidensWhatAuthorsMaySet covers keys of the fleet and of tags.
func TestAnAdminWidensWhatAuthorsMaySet(t *testing.T) {
	for keys, free := range map[string]bool{"": false, "options.listenAddresses": true, "OPTIONS.listenaddresses": true,
		"options": true, "*": false, "options.urAccepted": false, "options.listenAddresses.x": false, "..": false} {
		c := newScene(t)
		c.facts.AuthorKeys = []string{keys}
		_, p, err := c.plan([]fleet.Template{merge(1, 10, author, "options.listenAddresses", `["tcp://:22001"]`)})
		if err != nil || len(p.Changes) != 1 || p.Changes[0].Sendable() != free {
			t.Errorf("%q: got %v, %v, want it sent: %t", keys, p.Changes, err, free)
		}
		if want := "muster author-keys add options.listenAddresses"; !free && !strings.Contains(p.Changes[0].Reason, want) {
			t.Errorf("the reason %q does not name the command", p.Changes[0].Reason)
		}
	}
}

// TestAddressesThatMusterHasAreFree covers what devices() gives to a template.
func TestAddressesThatMusterHasAreFree(t *testing.T) {
	for addresses, free := range map[string]bool{
		`["tcp://10.1.2.3:22000", "dynamic"]`: true, `["quic://10.1.2.3"]`: true, `["tcp://10.1.2.4:22000"]`: false,
		`["tcp://10.1.2.3:22000@evil"]`: false, `["relay://10.1.2.3:22000"]`: false, `["tcp://10.1.2.3.evil:1"]`: false,
	} {
		c := guardScene(t)
		c.registered[nora] = "Nora"
		c.facts.AddressOf = func(fleet.DeviceID) string { return "10.1.2.3" }
		_, p, err := c.plan([]fleet.Template{{ID: 1, Op: fleet.OpSet, Key: "devices." + nora + ".addresses", Text: addresses,
			SavedRole: author}})
		if err == nil && (len(p.Changes) != 1 || p.Changes[0].Sendable() != free) || err != nil && free {
			t.Errorf("%s: got %v, %v, want it sent: %t", addresses, p.Changes, err, free)
		}
	}
}
