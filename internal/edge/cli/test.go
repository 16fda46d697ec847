package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"muster/internal/adapter/sandbox"
	"muster/internal/core/desired"
	"muster/internal/core/fleetfiles"
	"muster/internal/core/stconfig"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

type testCommand struct {
	File string `short:"f" env:"-" help:"Directory with the fleet as files." default:"." placeholder:"DIR"`
	All  bool   `short:"v" env:"-" help:"Name what is true, too."`
}

// Help shows an assertion.
func (testCommand) Help() string {
	return `Example of a file in DIR/tests:

  {
    name: the team folder goes both ways
    tag: team                              # or device: LABEL, or all: true
    expect: {"folders.team.type": "sendreceive"}
    absent: ["folders.private"]
    count: {"folders": 2}                  # members at a key
    devices: 3                             # how many devices carry the tag
    noUnregisteredShares: true
  }

No server is asked. Templates are laid over the configurations in DIR/tests/configs, which are recorded with
` + "`muster device config LABEL > DIR/tests/configs/LABEL.json`" + `; a device without one has a sample configuration. The exit
code is 1 when an assertion is broken.`
}

// errBroken ends the command after broken assertions were printed.
const errBroken = exitCode(exitFailed)

// Run runs templates and assertions.
func (c *testCommand) Run(ctx context.Context, env *environment) error {
	d, err := readFleetDir(c.File)
	if err != nil {
		return err
	}
	t, err := newTrial(d)
	if err != nil {
		return err
	}
	broken, err := t.run(ctx)
	if err != nil {
		return err
	}
	isBroken := map[string]bool{}
	for _, b := range broken {
		isBroken[b.Name] = true
		of := string(b.Device)
		if device := t.registry.Devices[b.Device]; device != nil {
			of = cmp.Or(device.Label, of)
		}
		parts := slices.DeleteFunc([]string{b.Name, of, b.Key}, func(s string) bool { return s == "" })
		fmt.Fprintf(env.Out, "BROKEN %s: expected %s, got %s\n", printable(strings.Join(parts, ": ")), printable(b.Expected),
			printable(d.lines().inText(b.Got)))
	}
	for _, test := range d.tests {
		if c.All && !isBroken[test.Name] {
			fmt.Fprintf(env.Out, "true   %s\n", printable(test.Name))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(t.sampled)) {
		fmt.Fprintf(env.Err, "Warning: %s has no recorded configuration: a sample was taken. "+
			"Record it: muster device config %s > %s\n", quoted(t.name(id)), quoted(t.name(id)),
			quoted(filepath.Join(d.dir, configsDir, t.name(id)+".json")))
	}
	fmt.Fprintf(env.Out, "%s, broken: %d.\n", counted(len(d.tests), "assertion"), len(isBroken))
	if len(broken) > 0 {
		return errBroken
	}
	return nil
}

// trial is a fleet that is made from files alone.
type trial struct {
	*fleetDir
	registry *fleet.Registry
	configs  map[string]stconfig.Value // the key is a label or an ID
	versions map[fleet.DeviceID]fleet.Version
	paths    map[int64]templateFile

	mu      sync.Mutex // guards sampled
	sampled map[fleet.DeviceID]bool
}

func newTrial(d *fleetDir) (*trial, error) {
	t := &trial{
		fleetDir: d,
		configs:  map[string]stconfig.Value{},
		versions: map[fleet.DeviceID]fleet.Version{},
		paths:    map[int64]templateFile{},
		sampled:  map[fleet.DeviceID]bool{},
		registry: &fleet.Registry{Devices: map[fleet.DeviceID]*fleet.Registered{},
			TagVars: map[fleet.Tag]fleet.SavedVars{}},
	}
	var faults []fleet.Detail
	for text, device := range d.fleet.Devices {
		id, err := fleet.ParseDeviceID(text)
		if err != nil {
			faults = append(faults, fleetfiles.Fault(fleetFileName, d.document.Line("devices", text), "%s", fleet.Reason(err)))
			continue
		}
		one := &fleet.Registered{Device: fleet.Device{ID: id, APIPort: fleet.DefaultAPIPort}}
		if device.Label != nil {
			one.Label = *device.Label
		}
		for _, tag := range device.Tags {
			one.Tags = append(one.Tags, fleet.Tag(tag))
		}
		slices.Sort(one.Tags)
		vars, err := fleet.ParseVars(device.Vars)
		if err != nil {
			faults = append(faults, fleetfiles.Fault(fleetFileName, d.document.Line("devices", text), "%s", fleet.Reason(err)))
		}
		one.Vars = fleet.SavedVars{Vars: vars, SavedRole: fleet.RoleAdmin}
		t.registry.Devices[id] = one
		if is := device.System; is != nil {
			t.versions[id] = fleet.Version{OS: is.OS, Arch: is.Arch, Version: is.Version}
		}
	}
	for name, tag := range d.fleet.Tags {
		vars, err := fleet.ParseVars(tag.Vars)
		if err != nil {
			faults = append(faults, fleetfiles.Fault(fleetFileName, d.document.Line("tags", name), "%s", fleet.Reason(err)))
		}
		t.registry.TagVars[fleet.Tag(name)] = fleet.SavedVars{Vars: vars, SavedRole: fleet.RoleAdmin}
	}
	for _, name := range slices.Sorted(maps.Keys(d.templates)) {
		file := d.templates[name]
		id := int64(len(t.paths) + 1)
		t.paths[id] = file
		program, err := template.Compile(file.Text)
		if err != nil {
			return nil, err // cannot happen: readFleetDir compiled it
		}
		one := fleet.TaggedTemplate{Template: fleet.Template{ID: id, Label: cmp.Or(file.Label, name), Priority: file.Priority,
			Op: fleet.Op(file.Op), Key: file.Key, Text: file.Text, SavedRole: fleet.RoleAdmin, Reads: program.Reads()}}
		if _, err := stconfig.ParseKey(file.Key); err != nil {
			faults = append(faults, fleetfiles.Fault(file.path, 1, "key %q: %s", file.Key, fleet.Reason(err)))
		}
		for _, tag := range file.Tags {
			one.Tags = append(one.Tags, fleet.Tag(tag))
		}
		t.registry.Templates = append(t.registry.Templates, one)
	}
	slices.SortFunc(t.registry.Templates, func(a, b fleet.TaggedTemplate) int {
		return fleet.CompareTemplates(a.Template, b.Template)
	})
	wrong, err := t.readConfigs()
	if err != nil {
		return nil, err
	}
	return t, fleetfiles.Faults(append(faults, wrong...))
}

// readConfigs reads the recorded configurations.
func (t *trial) readConfigs() (faults []fleet.Detail, err error) {
	names, err := t.filesIn(configsDir, ".json")
	if err != nil {
		return nil, unreadable(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(t.dir, configsDir, name))
		if err != nil {
			return nil, unreadable(err)
		}
		config, err := stconfig.Parse(text)
		if err != nil || config.Kind() != stconfig.Object {
			faults = append(faults, fleetfiles.Fault(configsDir+"/"+name, 1,
				"it is no configuration: record it again with `muster device config`"))
			continue
		}
		t.configs[strings.TrimSuffix(name, ".json")] = config
	}
	return faults, nil
}

// config is the configuration of a device before the templates: the recorded one, or a sample.
func (t *trial) config(of fleetfiles.Subject) stconfig.Value {
	for _, name := range []string{of.Label, fleet.FileName(of.Label), string(of.ID)} {
		if config, there := t.configs[name]; there && name != "" {
			return config
		}
	}
	t.mu.Lock()
	t.sampled[of.ID] = true
	t.mu.Unlock()
	own := strings.ReplaceAll(string(stconfig.Sample().JSON()), string(stconfig.SampleID), string(of.ID))
	sample, _ := stconfig.Parse([]byte(own)) // the sample stays valid with another ID
	return sample
}

// factsOf are the facts of a device, with what its daemon told of itself when the files were exported.
func (t *trial) factsOf(id fleet.DeviceID) template.Facts {
	return template.FactsOf(t.registry.Devices[id], t.versions[id])
}

func (t *trial) name(id fleet.DeviceID) string {
	return cmp.Or(t.registry.Devices[id].Label, string(id))
}

// run finds the broken assertions.
func (t *trial) run(ctx context.Context) (broken []fleet.BrokenAssertion, err error) {
	var all []fleetfiles.Subject
	for id, d := range t.registry.Devices {
		all = append(all, fleetfiles.Subject{ID: id, Label: d.Label, Tags: d.Tags})
	}
	asserted, subjects := map[fleet.DeviceID][]fleet.Assertion{}, map[fleet.DeviceID]fleetfiles.Subject{}
	for _, test := range t.tests {
		selected, wrong := fleetfiles.Selected(test.Assertion, all)
		broken = append(broken, wrong...)
		for _, of := range selected {
			asserted[of.ID], subjects[of.ID] = append(asserted[of.ID], test.Assertion), of
		}
	}
	ctx, stop := context.WithCancel(ctx)
	// To start a worker takes longer than most templates, so one is enough until more are needed.
	pool := sandbox.New(sandbox.Options{Warm: 1, Max: runtime.GOMAXPROCS(0)})
	var running, work sync.WaitGroup
	running.Go(func() { _ = pool.Run(ctx) })
	defer running.Wait()
	defer stop()
	version := func(id fleet.DeviceID) fleet.Version { return t.versions[id] }
	f := folding{t, pool, template.FleetOf(t.registry, version, false), template.FleetOf(t.registry, version, true)}
	slots := make(chan struct{}, 2*runtime.GOMAXPROCS(0))
	var mu sync.Mutex
	for id, tests := range asserted {
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			found := f.broken(ctx, subjects[id], tests)
			mu.Lock()
			defer mu.Unlock()
			broken = append(broken, found...)
		})
	}
	work.Wait()
	slices.SortFunc(broken, func(a, b fleet.BrokenAssertion) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Device, b.Device), cmp.Compare(a.Key, b.Key))
	})
	return broken, context.Cause(ctx)
}

// folding applies templates to configurations.
type folding struct {
	*trial
	pool  *sandbox.Pool
	fleet *template.Fleet
	peers *template.Fleet // the devices as templates that read peers see them
}

func (f folding) broken(ctx context.Context, of fleetfiles.Subject, tests []fleet.Assertion) (
	broken []fleet.BrokenAssertion) {
	config := f.config(of)
	r, err := desired.Fold(desired.Input{
		Device: of.ID, Observed: config, Templates: f.registry.TemplatesOf(of.ID), Tags: of.Tags,
		Registered: func(id fleet.DeviceID) (string, bool) {
			known := f.registry.Devices[id]
			if known == nil {
				return "", false
			}
			return known.Label, true
		},
		AdminSaved: fleet.Template.SavedByAdmin,
		Evaluate: func(t fleet.Template, config stconfig.Value) (desired.Fragment, error) {
			own := f.factsOf(of.ID)
			own.Vars = f.registry.VarsOf(of.ID)
			request := sandbox.Request{Text: t.Text, Device: own, Config: config}
			if t.Reads.OrAll().ReadsFleet() {
				request.Fleet = f.fleet
			}
			if t.Reads.Peers {
				request.Fleet = f.peers
			}
			made, err := f.pool.Evaluate(ctx, request)
			return desired.Fragment{Value: made.Value, ReadsConfig: made.ReadsConfig}, err
		},
	})
	registered := func(id fleet.DeviceID) bool { return f.registry.Devices[id] != nil }
	for _, test := range tests {
		if err != nil {
			broken = append(broken, fleet.BrokenAssertion{Name: test.Name, Device: of.ID, Expected: "a configuration",
				Got: fleet.Reason(err)})
			continue
		}
		broken = append(broken, fleetfiles.Broken(test, of, r.Desired, registered)...)
	}
	return broken
}
