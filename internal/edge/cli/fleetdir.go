package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"muster/api"
	"muster/internal/core/desired"
	"muster/internal/core/fleetfiles"
	"muster/internal/core/stconfig"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

const (
	fleetFileName = "fleet.hjson"
	templatesDir  = "templates"
	testsDir      = "tests"
	configsDir    = "tests/configs" // folder of recorded configurations

	maxFleetFile = 32 << 20 // bytes
)

// fleetFile is what fleet.hjson says. What it leaves out stays as it is.
type fleetFile struct {
	Source      string                         `json:"source,omitempty"`
	ReadOnly    bool                           `json:"readOnly,omitempty"`
	KeepTests   bool                           `json:"keepTests,omitempty"`
	FolderRoots []string                       `json:"folderRoots,omitzero"`
	Tags        map[string]api.PlanFleetTag    `json:"tags,omitempty"`
	Devices     map[string]api.PlanFleetDevice `json:"devices,omitempty"`
}

// fleetDir is a fleet that was read from files.
type fleetDir struct {
	dir       string
	fleet     fleetFile
	document  template.Document // fleet.hjson with its line numbers
	templates map[string]templateFile
	tests     []placedAssertion
}

// templateFile is a template with its place below the directory.
type templateFile struct {
	path   string
	header []string
	fleetfiles.Template
}

// lineOf is the line of the header that has a field, 1 without one.
func (t templateFile) lineOf(field string) int {
	with := func(line string) bool { return strings.Contains(line, " "+field+":") }
	return max(slices.IndexFunc(t.header, with)+1, 1)
}

// placedAssertion is an assertion with its file and line.
type placedAssertion struct {
	path string
	line int
	fleet.Assertion
}

// readFleetDir reads all files. The error names every fault with file and line.
func readFleetDir(dir string) (*fleetDir, error) {
	d := &fleetDir{dir: dir, templates: map[string]templateFile{}}
	var faults []fleet.Detail
	text, err := readBounded(filepath.Join(dir, fleetFileName))
	switch {
	case os.IsNotExist(err):
	case err != nil:
		return nil, unreadable(err)
	case strings.TrimSpace(text) != "":
		var wrong []fleet.Detail
		d.document, wrong = fleetfiles.Decode(fleetFileName, text, &d.fleet)
		faults = append(faults, wrong...)
	}
	for _, read := range []func() ([]fleet.Detail, error){d.readTemplates, d.readTests} {
		wrong, err := read()
		if err != nil {
			return nil, err
		}
		faults = append(faults, wrong...)
	}
	if len(d.templates)+len(d.tests) == 0 && !d.document.Value.Exists() && len(faults) == 0 {
		return nil, &fleet.Error{Code: fleet.CodeInvalid,
			Message: fmt.Sprintf("%s has neither %s nor a template in %s/", dir, fleetFileName, templatesDir),
			Hint:    fmt.Sprintf("`muster export %s` writes the fleet there.", quoted(dir))}
	}
	return d, fleetfiles.Faults(faults)
}

func readBounded(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", err
	case info.Size() > maxFleetFile:
		return "", fmt.Errorf("%s is larger than 32 MiB", path)
	}
	text, err := os.ReadFile(path)
	return string(text), err
}

// filesIn lists the files of a folder below the directory that have one of the endings, sorted. A missing folder has
// no files.
func (d *fleetDir) filesIn(folder string, endings ...string) (names []string, err error) {
	entries, err := os.ReadDir(filepath.Join(d.dir, folder))
	if os.IsNotExist(err) {
		return nil, nil
	}
	for _, entry := range entries {
		if ending := filepath.Ext(entry.Name()); ending == ".yaml" || ending == ".yml" {
			return nil, &fleet.Error{Code: fleet.CodeInvalid,
				Message: fmt.Sprintf("%s/%s is YAML, which Muster does not read", folder, entry.Name()),
				Hint: fmt.Sprintf("Write it as HJSON or JSON, in a file with the ending %s; or move it out of %s.",
					strings.Join(endings, " or "), folder)}
		}
		if entry.Type()&fs.ModeDir == 0 && slices.Contains(endings, filepath.Ext(entry.Name())) &&
			!strings.HasPrefix(entry.Name(), ".") {
			names = append(names, entry.Name())
		}
	}
	return names, err
}

func (d *fleetDir) readTemplates() (faults []fleet.Detail, err error) {
	names, err := d.filesIn(templatesDir, ".hjson", ".star")
	if err != nil {
		return nil, unreadable(err)
	}
	byName := map[string]string{}
	for _, file := range names {
		path := templatesDir + "/" + file
		name := strings.TrimSuffix(file, filepath.Ext(file))
		if other, twice := byName[strings.ToLower(name)]; twice {
			faults = append(faults, fleetfiles.Fault(path, 1,
				"%s is the same template by its name: delete or rename one of them", other))
			continue
		}
		byName[strings.ToLower(name)] = path
		text, err := readBounded(filepath.Join(d.dir, templatesDir, file))
		if err != nil {
			return nil, unreadable(err)
		}
		t, err := fleetfiles.ParseTemplate(text)
		if err != nil {
			faults = append(faults, fleetfiles.FaultsIn(path, 0, err)...)
			continue
		}
		if _, err := template.CompileNew(t.Text); err != nil {
			if key, unreadable := stconfig.ParseKey(t.Key); unreadable == nil {
				err = desired.ExplainText(fleet.Template{Op: fleet.Op(t.Op), Key: t.Key, Text: t.Text}, key, err)
			}
			faults = append(faults, fleetfiles.FaultsIn(path, t.HeaderLines, err)...)
		}
		if t.Label == "" && !t.Blank {
			t.Label = name
		}
		t.Op = cmp.Or(t.Op, string(fleet.OpSet))
		d.templates[name] = templateFile{path, strings.Split(text, "\n")[:t.HeaderLines], t}
	}
	return faults, nil
}

// readTests reads the assertions. A file holds one, or a list of them.
func (d *fleetDir) readTests() (faults []fleet.Detail, err error) {
	names, err := d.filesIn(testsDir, ".hjson")
	if err != nil {
		return nil, unreadable(err)
	}
	for _, file := range names {
		path := testsDir + "/" + file
		text, err := readBounded(filepath.Join(d.dir, testsDir, file))
		if err != nil {
			return nil, unreadable(err)
		}
		read, wrong := readAssertions(path, text)
		faults, d.tests = append(faults, wrong...), append(d.tests, read...)
	}
	return faults, nil
}

func readAssertions(path, text string) (all []placedAssertion, faults []fleet.Detail) {
	var list []testFile
	document, err := template.ReadDocument(text)
	if err == nil && document.Value.Kind() != stconfig.Array {
		var one testFile
		if _, faults := fleetfiles.Decode(path, text, &one); len(faults) > 0 {
			return nil, faults
		}
		list = []testFile{one}
	} else if _, faults := fleetfiles.Decode(path, text, &list); len(faults) > 0 {
		return nil, faults
	}
	for i, one := range list {
		var line int
		if document.Value.Kind() == stconfig.Array {
			line = document.Line(fmt.Sprint(i))
		} else {
			line = document.Line()
		}
		one.Name = cmp.Or(one.Name, fmt.Sprintf("%s:%d", path, line))
		if err := fleetfiles.CheckAssertion(fleet.Assertion(one)); err != nil {
			faults = append(faults, fleetfiles.Fault(path, line, "%s", fleet.Reason(err)))
			continue
		}
		all = append(all, placedAssertion{path, line, fleet.Assertion(one)})
	}
	return all, faults
}

// testFile is an assertion as a file has it.
type testFile fleet.Assertion

// body is what the files ask for.
func (d *fleetDir) body(source string, prune bool) api.PlanFleet {
	body := api.PlanFleet{Source: cmp.Or(source, d.fleet.Source), Prune: prune, FolderRoots: d.fleet.FolderRoots,
		Devices: d.fleet.Devices, Tags: d.fleet.Tags, Templates: map[string]api.PlanFleetTemplate{},
		Keep: d.fleet.KeepTests}
	if body.Source != "" || d.fleet.ReadOnly {
		body.ReadOnly = &d.fleet.ReadOnly
	}
	for name, t := range d.templates {
		body.Templates[name] = api.PlanFleetTemplate{Label: &t.Label, Priority: &t.Priority, Op: &t.Op, Key: &t.Key,
			Template: &t.Text, Tags: t.Tags}
	}
	for _, test := range d.tests {
		body.Assertions = append(body.Assertions, api.Assertion(test.Assertion))
	}
	return body
}

// text is fleet.hjson with one line for each device and tag, so that differences are easy to read.
func (f fleetFile) text() (string, error) {
	var b strings.Builder
	b.WriteString(
		"# What this leaves out stays as it is. Devices are registered on their machines, with `muster enroll` or\n" +
			"# `muster agent run`: no file holds a secret.\n{\n",
	)
	for _, field := range []struct {
		name  string
		value any
		there bool
	}{
		{"source", f.Source, f.Source != ""}, {"readOnly", true, f.ReadOnly}, {"keepTests", true, f.KeepTests},
		{"folderRoots", f.FolderRoots, f.FolderRoots != nil},
	} {
		if !field.there {
			continue
		}
		text, err := oneLine(field.value)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "  %q: %s\n", field.name, text)
	}
	if err := writeMembers(&b, "tags", f.Tags); err != nil {
		return "", err
	}
	if err := writeMembers(&b, "devices", f.Devices); err != nil {
		return "", err
	}
	b.WriteString("}\n")
	return b.String(), nil
}

func writeMembers[T any](b *strings.Builder, name string, members map[string]T) error {
	if len(members) == 0 {
		return nil
	}
	fmt.Fprintf(b, "  %q: {\n", name)
	for _, member := range slices.Sorted(maps.Keys(members)) {
		key, err := oneLine(member)
		if err != nil {
			return err
		}
		value, err := oneLine(members[member])
		if err != nil {
			return err
		}
		fmt.Fprintf(b, "    %s: %s\n", key, value)
	}
	b.WriteString("  }\n")
	return nil
}

// oneLine is a value as JSON, which is HJSON too.
func oneLine(value any) (string, error) {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return strings.TrimSuffix(b.String(), "\n"), err
}
