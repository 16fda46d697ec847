package wishes

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"muster/api"
	"muster/internal/core/desired"
	"muster/internal/core/fleetfiles"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

// someFleet is the fleet of testdata/fleet.hjson with templates.
type someFleet struct {
	t        *testing.T
	registry *fleet.Registry
	versions map[fleet.DeviceID]fleet.Version
	config   stconfig.Value // what each daemon has besides the sample configuration
	programs map[int64]*template.Program
	known    *template.Fleet
}

// newFleet reads the fleet, and the configuration of a case where it has one.
func newFleet(t *testing.T, archive *txtar.Archive) *someFleet {
	t.Helper()
	var file struct {
		Tags    map[string]api.PlanFleetTag    `json:"tags"`
		Devices map[string]api.PlanFleetDevice `json:"devices"`
	}
	if _, faults := fleetfiles.Decode("fleet.hjson", read(t, "testdata/fleet.hjson"), &file); len(faults) > 0 {
		t.Fatal(faults)
	}
	f := &someFleet{t: t, versions: map[fleet.DeviceID]fleet.Version{}, programs: map[int64]*template.Program{},
		registry: &fleet.Registry{Devices: map[fleet.DeviceID]*fleet.Registered{}, TagVars: map[fleet.Tag]fleet.SavedVars{}}}
	for tag, one := range file.Tags {
		f.registry.TagVars[fleet.Tag(tag)] = fleet.SavedVars{Vars: f.vars(one.Vars), SavedRole: fleet.RoleAdmin}
	}
	for text, one := range file.Devices {
		id, err := fleet.ParseDeviceID(text)
		if err != nil {
			t.Fatal(err)
		}
		device := &fleet.Registered{Device: fleet.Device{ID: id, Label: *one.Label, APIPort: fleet.DefaultAPIPort}}
		for _, tag := range one.Tags {
			device.Tags = append(device.Tags, fleet.Tag(tag))
		}
		device.Vars = fleet.SavedVars{Vars: f.vars(one.Vars), SavedRole: fleet.RoleAdmin}
		f.registry.Devices[id] = device
		if one.System != nil {
			f.versions[id] = fleet.Version{OS: one.System.OS, Arch: one.System.Arch, Version: one.System.Version}
		}
	}
	f.config = f.hjson(cmp.Or(section(archive, "config.hjson"), read(t, "testdata/config.hjson")))
	f.known = template.FleetOf(f.registry, func(id fleet.DeviceID) fleet.Version { return f.versions[id] }, true)
	return f
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func section(archive *txtar.Archive, name string) string {
	for _, file := range archive.Files {
		if file.Name == name {
			return string(file.Data)
		}
	}
	return ""
}

func (f *someFleet) vars(given map[string]jsonText) fleet.Vars {
	f.t.Helper()
	vars, err := fleet.ParseVars(given)
	if err != nil {
		f.t.Fatal(err)
	}
	return vars
}

func (f *someFleet) hjson(text string) stconfig.Value {
	f.t.Helper()
	document, err := template.ReadDocument(text)
	if err != nil {
		f.t.Fatal(err)
	}
	return document.Value
}

// add reads the template of a file and checks it as a server does before it is saved.
func (f *someFleet) add(name, text string) (warnings []string, err error) {
	file, err := fleetfiles.ParseTemplate(text)
	if err != nil {
		return nil, err
	}
	op, err := fleet.ParseOp(cmp.Or(file.Op, string(fleet.OpSet)))
	if err != nil {
		return nil, err
	}
	one := fleet.TaggedTemplate{Template: fleet.Template{ID: int64(len(f.registry.Templates) + 1), Priority: file.Priority,
		Label: cmp.Or(file.Label, strings.TrimSuffix(strings.TrimSuffix(name, ".star"), ".hjson")), Op: op, Key: file.Key,
		Text: file.Text, SavedRole: fleet.RoleAdmin}}
	for _, text := range file.Tags {
		tag, err := fleet.ParseTag(text)
		if err != nil {
			return nil, err
		}
		one.Tags = append(one.Tags, tag)
	}
	key, err := stconfig.ParseKey(file.Key)
	if err != nil {
		return nil, err
	}
	program, err := template.CompileNew(file.Text)
	if err != nil {
		return nil, desired.ExplainText(one.Template, key, err)
	}
	f.programs[one.ID], one.Reads = program, program.Reads()
	f.registry.Templates = append(f.registry.Templates, one)
	sample := template.Input{Device: template.SampleFacts, Config: template.Conceal(stconfig.Sample())}
	made, err := program.Evaluate(sample, template.Limits{})
	if err != nil {
		return nil, nil //nolint:nilerr // It may work on a device.
	}
	none := func(stconfig.Key) bool { return false }
	return desired.Warnings(one.Template, key, made, none), desired.CheckStrictly(one.Template, key, made)
}

// observed returns what a daemon has before the templates.
func (f *someFleet) observed(id fleet.DeviceID) stconfig.Value {
	f.t.Helper()
	own := strings.ReplaceAll(string(stconfig.Sample().JSON()), string(stconfig.SampleID), string(id))
	config, err := stconfig.Parse([]byte(own))
	if err != nil {
		f.t.Fatal(err)
	}
	config, skips, err := stconfig.Apply(config, fleet.OpMerge, stconfig.Key{}, f.config, id)
	if err != nil || len(skips) > 0 {
		f.t.Fatal(skips, err)
	}
	patterns := map[string][]string{}
	for folder := range config.Get("folders").Values() {
		patterns[folder.Get("id").Str()] = []string{"*.bak"}
	}
	text, err := json.Marshal(patterns)
	if err != nil {
		f.t.Fatal(err)
	}
	return config.With("ignores", f.hjson(string(text)))
}

func (f *someFleet) evaluate(id fleet.DeviceID) func(fleet.Template, stconfig.Value) (desired.Fragment, error) {
	facts := template.FactsOf(f.registry.Devices[id], f.versions[id])
	facts.Vars = f.registry.VarsOf(id)
	return func(t fleet.Template, config stconfig.Value) (desired.Fragment, error) {
		program := f.programs[t.ID]
		made, err := program.Evaluate(template.Input{Device: facts, Fleet: f.known, Config: template.Conceal(config),
			Secrets: []string{"vault-pw"}}, template.Limits{})
		return desired.Fragment{Value: made.Value, ReadsConfig: program.Reads().Config}, err
	}
}

func (f *someFleet) label(id fleet.DeviceID) (string, bool) {
	known := f.registry.Devices[id]
	if known == nil {
		return "", false
	}
	return known.Label, true
}

// plan makes the plan of one device.
func (f *someFleet) plan(id fleet.DeviceID) (desired.Result, plan.Plan, error) {
	fold := desired.Input{Device: id, Observed: f.observed(id), Templates: f.registry.TemplatesOf(id),
		OS: f.versions[id].OS, Tags: f.registry.Devices[id].Tags, Registered: f.label, Evaluate: f.evaluate(id),
		AdminSaved: fleet.Template.SavedByAdmin,
		Secret:     func(name string) (fleet.SecretScope, bool) { return fleet.SecretScope{}, name == "vault-pw" }}
	r, err := desired.Fold(fold)
	if err != nil {
		return r, plan.Plan{}, err
	}
	registered := func(id fleet.DeviceID) bool { return f.registry.Devices[id] != nil }
	in := plan.Input{Device: id, Observed: r.Observed(), Desired: r.Desired, Base: r.Base, MadeByAdmins: r.MadeByAdmins,
		Facts: plan.Facts{APIPort: fleet.DefaultAPIPort, APIAddress: "127.0.0.1", System: f.system(id),
			Roots: []string{"~"}, Registered: registered, ByAdmin: func(int64) bool { return true }},
		ByAdmins: func() (stconfig.Value, error) { return desired.ByAdmins(fold, r) },
		Consent:  func(plan.Change) bool { return false },
		Why:      func(key stconfig.Key) plan.Why { return plan.Why(r.Why(key)) },
		Secret:   func(string) (string, bool) { return "correct horse", true }}
	for _, s := range r.Skipped {
		in.Skipped = append(in.Skipped, plan.Change{Key: s.Key, Templates: []int64{s.Template}, Reason: s.Reason})
	}
	p, err := plan.Make(in)
	return r, p, err
}

// system is what a daemon told of its machine.
func (f *someFleet) system(id fleet.DeviceID) fleet.System {
	os := f.versions[id].OS
	if os == "windows" {
		return fleet.System{OS: os, PathSeparator: `\`, Tilde: `C:\Users\sample`}
	}
	return fleet.System{OS: os, PathSeparator: "/", Tilde: "/home/sample"}
}

// describe returns the plans of all devices, in the order of their labels.
func (f *someFleet) describe() string {
	var out strings.Builder
	ids := slices.SortedFunc(maps.Keys(f.registry.Devices), func(a, b fleet.DeviceID) int {
		return cmp.Compare(f.registry.Devices[a].Label, f.registry.Devices[b].Label)
	})
	for _, id := range ids {
		if len(f.registry.TemplatesOf(id)) == 0 {
			continue
		}
		fmt.Fprintf(&out, "%s:\n", f.registry.Devices[id].Label)
		r, p, err := f.plan(id)
		if err != nil {
			out.WriteString(indented(said(err)))
			continue
		}
		out.WriteString(indented(f.changes(p)))
		for _, mistake := range r.Mistakes {
			out.WriteString(indented("warning: " + mistake.String()))
		}
		for _, conflict := range r.Conflicts {
			out.WriteString(indented("note: " + conflict.String()))
		}
	}
	return f.named(out.String())
}

func (f *someFleet) changes(p plan.Plan) string {
	if len(p.Changes) == 0 {
		return "nothing to do"
	}
	var out strings.Builder
	for _, c := range p.Changes {
		from, to := c.Shown()
		fmt.Fprintf(&out, "%s %s", c.Class, c.Key)
		if c.Class != plan.Skipped {
			fmt.Fprintf(&out, ": %s -> %s", shown(from), shown(to))
		}
		if c.Reason != "" {
			fmt.Fprintf(&out, " (%s)", c.Reason)
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// shownMembers are those members of a folder or device that a plan of the golden files has, where they are set.
var shownMembers = []string{"name", "label", "path", "type", "addresses", "introducer", "autoAcceptFolders",
	"untrusted", "compression", "numConnections", "devices"}

var unset = []string{"false", "0", `""`}

// shown is a value as a plan shows it: of a folder or device what tells it from another.
func shown(v stconfig.Value) string {
	switch {
	case !v.Exists():
		return "absent"
	case v.Get("deviceID").Exists() || v.Get("id").Exists():
		parts := []string{}
		for _, name := range shownMembers {
			member := v.Get(name)
			if member.Exists() && !slices.Contains(unset, string(member.JSON())) {
				parts = append(parts, name+": "+shown(member))
			}
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case v.Kind() == stconfig.Array && v.Len() > 0 && v.At(0).Get("deviceID").Exists():
		parts := []string{}
		for member := range v.Values() {
			text := member.Get("deviceID").Str()
			if member.Get("encryptionPassword").Str() != "" {
				text += " encrypted"
			}
			parts = append(parts, text)
		}
		return strings.Join(parts, ", ")
	}
	return string(v.JSON())
}

// named puts labels in the place of device IDs.
func (f *someFleet) named(text string) string {
	var pairs []string
	for id, device := range f.registry.Devices {
		pairs = append(pairs, string(id), "<"+device.Label+">")
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

func indented(text string) string {
	var out strings.Builder
	for line := range strings.Lines(strings.TrimSuffix(text, "\n")) {
		out.WriteString("  " + strings.TrimSuffix(line, "\n") + "\n")
	}
	return out.String()
}
