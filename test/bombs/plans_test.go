package bombs_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/simulated"
)

const (
	fleetFolders = 200
	bombLimit    = 10 * time.Minute // for one answer: the machine is busy, and the bombs come several at a time
)

// atATime is how often a bomb is evaluated, and asked about in a what-if, at once. The server makes two evaluations,
// and one what-if, at a time.
func atATime() (evaluations, whatIfs int) {
	if os.Getenv("MUSTER_SOAK") != "" {
		return 10, 3
	}
	return 3, 2
}

// shortFleet is the number of devices in the short form.
const shortFleet = 3

// fleetSize is how many devices the bombs are for.
func fleetSize() int {
	if os.Getenv("MUSTER_SOAK") != "" {
		return 40
	}
	return shortFleet
}

// bombs are all of them with MUSTER_SOAK=1, else one of each kind: every test of every commit waits for them.
func bombs() map[string]planBomb {
	if os.Getenv("MUSTER_SOAK") != "" {
		return planBombs
	}
	few := map[string]planBomb{}
	for _, name := range []string{
		"handles in a list", "handles at shares", "a label of its own", "ignore patterns", "unknown objects",
		"new folders", "an ID in many folders", "an error", "prints", "labels" + fits, "folders" + fits,
	} {
		few[name] = planBombs[name]
	}
	return few
}

// modes are those in which kept bombs are tried.
func modes() []fleet.Mode {
	if os.Getenv("MUSTER_SOAK") != "" {
		return []fleet.Mode{fleet.ModeObserve, fleet.ModeOn}
	}
	return []fleet.Mode{fleet.ModeOn}
}

// planBomb is a template that is small, and would make a plan that is not.
type planBomb struct{ op, key, text string }

const fits = " that may be" // ends the names of those within the bounds

// planBombs fan a value out over many places, name one secret many times, or make long texts, names or lists.
var planBombs = map[string]planBomb{
	"handles in a list": {"set", "options.stunServers", `[secret("kib")] * 99000`},
	"handles at shares": {"merge", "folders",
		"def template():\n    shares = [{'deviceID': d.deviceID, 'encryptionPassword': secret('kib')} for d in " +
			"devices()]\n" +
			"    return [{'id': 'f%d' % i, 'path': '~/f%d' % i, 'devices': shares} for i in range(99000 // len(shares))]"},
	"handles at every share": {"set", "folders.*.devices.*.encryptionPassword", `secret("large")`},
	"a label":                {"set", "folders.*.label", `"x" * 1000000`},
	"a label of its own":     {"set", "folders.*.label", "def template(device):\n    return device.deviceID * 15000"},
	"a path":                 {"set", "folders.*.path", `"/" + "x" * 1000000`},
	"names of devices":       {"set", "devices.*.name", `"x" * 2000000`},
	"addresses":              {"set", "devices.*.addresses", `["tcp://%d.example" % i for i in range(90000)]`},
	"ignore patterns":        {"set", "ignores.*", `["/pattern-%d" % i for i in range(90000)]`},
	"entries of a map":       {"merge", "folders.*.versioning.params", `{"name-%d" % i: "x" * 500 for i in range(2000)}`},
	"unknown fields":         {"merge", "folders.*", `{"unknown%d" % i: 1 for i in range(2000)}`},
	"unknown objects": {
		"merge",
		"folders.*",
		`{"minDiskFree": {"unknown%d" % i: 1 for i in range(2000)}, "versioning": {"unknown%d" % i: 1 for i in range(2000)}}`,
	},
	"new folders":           {"merge", "folders", `[{"id": "f%d" % i, "path": "~/f%d" % i} for i in range(30000)]`},
	"all folders anew":      {"set", "folders", `[{"id": "f%d" % i, "path": "~/f%d" % i} for i in range(30000)]`},
	"a folder's ID":         {"merge", "folders", `[{"id": "x" * 1000000, "path": "~/x"}]`},
	"an ID in many folders": {"merge", "folders.*.versioning.params", `{"x" * 1000000: "1"}`},
	"an unknown name":       {"merge", "folders.*", `{"x" * 1000000: 1}`},
	"an error":              {"set", "folders.*.label", "def template(device):\n    fail(device.deviceID * 30000)"},
	"a wrong type":          {"set", "folders.*.paused", `"x" * 2000000`},
	"a wrong word":          {"set", "folders.*.type", `"x" * 2000000`},
	"labels" + fits: {"set", "folders.*.label",
		"def template(device):\n    return (device.deviceID * 160)[:10000]"},
	"paths" + fits: {"set", "folders.*.path",
		"def template(device):\n    return '/' + (device.deviceID * 160)[:10000]"},
	"folders" + fits: {"merge", "folders", `[{"id": "f%d" % i, "path": "~/f%d" % i} for i in range(900)]`},
	"fields" + fits:  {"merge", "folders.*", `{"unknown%d" % i: 1 for i in range(9)}`},
	"prints": {"set", "options.maxSendKbps",
		"def template(device):\n    for i in range(1000):\n        print(device.deviceID)\n    return 1"},
}

// bombed is a fleet of simulated daemons with many folders.
type bombed struct {
	farm *stsim.Farm
	ids  []fleet.DeviceID
}

func newBombed(t *testing.T) *bombed {
	t.Helper()
	farm := simulated.Start(t, stsim.Options{Count: fleetSize(), Seed: 3, Folders: fleetFolders, Network: 83, Quiet: true,
		Timing: stsim.Timing{Summary: time.Millisecond}})
	b := &bombed{farm: farm}
	for _, d := range farm.Daemons() {
		b.ids = append(b.ids, d.ID())
	}
	return b
}

// register has a server manage the fleet.
func (b *bombed) register(t *testing.T, s *server.Server) {
	t.Helper()
	for _, d := range b.farm.Daemons() {
		s.Register(d.ID(), d.APIKey(), d.Host(), d.Port(), "all")
	}
	for name, size := range map[string]int{"kib": 1 << 10, "large": 64 << 10} {
		put := api.PutSecret{Value: new(strings.Repeat("s", size)), Keys: []string{"folders.*.devices.*.encryptionPassword"}}
		if _, _, err := s.Client.PutSecret(t.Context(), name, put); err != nil {
			t.Fatal(err)
		}
	}
}

// bombTag is on the templates that are kept.
const bombTag = "bomb"

// tag gives one device after the other the tag. A template that changes all of them at once would be a rollout, which
// admits one device and waits.
func (b *bombed) tag(t *testing.T, s *server.Server) {
	t.Helper()
	for _, id := range b.ids {
		if _, err := s.Client.TagDevice(t.Context(), string(id), bombTag); err != nil {
			t.Fatal(err)
		}
	}
}

// awaitIdle waits until every device was planned.
func (b *bombed) awaitIdle(t *testing.T, s *server.Server) {
	t.Helper()
	b.each(t, s, func(state api.DeviceState) bool {
		return state.Connection == string(fleet.Online) && state.Configuration != string(fleet.ConfigUnknown) &&
			state.Configuration != string(fleet.ConfigApplying)
	})
}

// each waits until the state of every device is good.
func (b *bombed) each(t *testing.T, s *server.Server, good func(api.DeviceState) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), appliedLimit)
	defer cancel()
	for _, id := range b.ids {
		for tick := time.NewTicker(100 * time.Millisecond); ; <-tick.C {
			state, err := s.Client.DeviceState(ctx, string(id))
			if err != nil {
				t.Fatal(err)
			}
			if good(state) {
				tick.Stop()
				break
			}
		}
	}
}

// peak forgets the largest resident memory so far, and gives what it was while do ran.
func peak(t *testing.T, pid int, do func()) int64 {
	t.Helper()
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0); err != nil {
		t.Fatal(err)
	}
	do()
	return memoryOf(t, pid, "VmHWM:")
}

func TestNoPlanOfABombMakesTheServerLarge(t *testing.T) {
	b := newBombed(t)
	s := server.Start(t, server.Options{Mode: fleet.ModeObserve})
	b.register(t, s)
	b.awaitIdle(t, s)
	idle := peak(t, s.PID(), func() { // the workers are warm, and what a good answer takes is no growth
		for range 3 {
			evaluatesWell(t, s)
			fine := planBomb{"set", "folders.*.label", `"fine"`}
			if _, err := s.Client.WhatIf(t.Context(), whatIfOf(fine)); err != nil {
				t.Fatal(err)
			}
		}
	})
	evaluations, whatIfs := atATime()
	for name, bomb := range bombs() {
		t.Run(name, func(t *testing.T) {
			check := func(what string, n int, ask func(context.Context) error) {
				began := time.Now()
				largest := peak(t, s.PID(), func() { atOnce(t, n, ask) })
				t.Logf("%d times %s: %d MiB above the idle server, in %v", n, what, (largest-idle)>>20, time.Since(began))
				if largest-idle > mayGrow {
					t.Errorf("%s: the server grew by %d MiB", what, (largest-idle)>>20)
				}
			}
			check("evaluate", evaluations, func(ctx context.Context) error {
				body := api.EvaluateTemplate{Op: &bomb.op, Key: &bomb.key, Template: &bomb.text}
				_, err := s.Client.EvaluateNewTemplate(ctx, body, string(b.ids[0]))
				return err
			})
			check("what-if", whatIfs, func(ctx context.Context) error {
				_, err := s.Client.WhatIf(ctx, whatIfOf(bomb))
				return err
			})
		})
	}
}

// atOnce asks n times at once. The server may answer that the template is wrong, or that a what-if took too long: one
// is made at a time, and each is given up after two minutes.
func atOnce(t *testing.T, n int, ask func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bombLimit)
	defer cancel()
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			err := ask(ctx)
			if code := fleet.CodeOf(err); err != nil && code != fleet.CodeInvalid && code != fleet.CodeUnavailable {
				t.Error(err)
			}
		})
	}
	all.Wait()
}

func whatIfOf(bomb planBomb) api.WhatIf {
	made := api.WhatIfNew{Op: &bomb.op, Key: &bomb.key, Template: &bomb.text, Tags: []string{"all"}}
	return api.WhatIf{Templates: &api.WhatIfTemplates{New: []api.WhatIfNew{made}}}
}

// A template that is kept is planned for every device when the server starts.
func TestNoKeptBombMakesAStartLarge(t *testing.T) {
	for _, mode := range modes() {
		t.Run(string(mode), func(t *testing.T) {
			b := newBombed(t)
			s := server.Start(t, server.Options{Mode: mode})
			b.register(t, s)
			b.awaitIdle(t, s)
			start := func() int64 {
				s.Stop()
				s = server.Start(t, server.Options{Mode: mode, Home: s.Home})
				return peak(t, s.PID(), func() { b.awaitIdle(t, s) })
			}
			idle := max(start(), start())
			for name, bomb := range bombs() {
				if mode == fleet.ModeOn && strings.HasSuffix(name, fits) {
					continue // it becomes the daemons' configuration, and that takes what it takes
				}
				t.Run(name, func(t *testing.T) {
					made, err := s.Client.CreateTemplate(t.Context(), api.PutTemplate{Op: &bomb.op, Key: &bomb.key,
						Template: &bomb.text})
					if fleet.CodeOf(err) == fleet.CodeInvalid {
						t.Logf("not saved: %v", err)
						return
					}
					if err != nil {
						t.Fatal(err)
					}
					largest := peak(t, s.PID(), func() {
						if _, err := s.Client.TagTemplate(t.Context(), made.ID, bombTag); err != nil {
							t.Error(err)
						}
						b.tag(t, s)
						b.awaitIdle(t, s)
						_, _ = s.Client.Rollouts(t.Context(), client.List{})
					})
					largest = max(largest, start())
					t.Logf("%d MiB above the idle server; %s", (largest-idle)>>20, reasonOf(t, s, b.ids[0]))
					if largest-idle > mayGrow {
						t.Errorf("the server grew by %d MiB", (largest-idle)>>20)
					}
					for _, id := range b.ids {
						if _, err := s.Client.UntagDevice(t.Context(), string(id), bombTag); err != nil {
							t.Fatal(err)
						}
					}
					if err := s.Client.DeleteTemplate(t.Context(), made.ID); err != nil {
						t.Fatal(err)
					}
				})
			}
		})
	}
}

func reasonOf(t *testing.T, s *server.Server, id fleet.DeviceID) string {
	t.Helper()
	state, err := s.Client.DeviceState(t.Context(), string(id))
	if err != nil {
		t.Fatal(err)
	}
	return state.Configuration + ": " + state.Reason[:min(len(state.Reason), 200)]
}

// memoryOf is a line of a process's status in bytes; its workers are processes of their own.
func memoryOf(t *testing.T, pid int, line string) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for of := range strings.Lines(string(text)) {
		if kib, ok := strings.CutPrefix(of, line); ok {
			n, err := strconv.ParseInt(strings.Fields(kib)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatalf("no %s", line)
	return 0
}
