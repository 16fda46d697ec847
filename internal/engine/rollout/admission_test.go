package rollout

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// at is the generation that a device is planned from.
func (d *daemons) at(n int) int64 {
	return d.store.admission.For(deviceN(n), d.store.current()).Generation
}

func TestUpToTenDevicesAreAdmittedAtOnce(t *testing.T) {
	d := newDaemons(t, 10, testTimes, option)
	d.store.tagTemplate(1, "all", true)
	if d.at(0) != 0 {
		t.Error("a device was admitted before that was decided")
	}
	d.changed()
	if d.having("options.x", "1") != 10 || len(d.store.rollouts) != 0 {
		t.Errorf("%d devices have it, %d rollouts", d.having("options.x", "1"), len(d.store.rollouts))
	}
}

// Ten thousand devices that are tagged one by one are no rollout, however many tags are settled together.
func TestManyChangesForOneDeviceEachAreForAllAtOnce(t *testing.T) {
	d := newDaemons(t, 50, testTimes, option)
	d.store.tagTemplate(1, "one", true)
	for n := range 50 {
		d.store.tagDevice(n, "one", true)
	}
	d.changed()
	if len(d.store.rollouts) != 0 || d.having("options.x", "1") != 50 {
		t.Errorf("got %d rollouts, %d devices have it", len(d.store.rollouts), d.having("options.x", "1"))
	}
}

func TestANewLabelTouchesNoDevice(t *testing.T) {
	d := newDaemons(t, 20, testTimes, option)
	labelled := d.store.current().Templates[0].Template
	d.store.tagTemplate(1, "all", true)
	d.changed()
	d.after(5 * time.Minute)
	labelled.Label = "new"
	d.store.template(labelled)
	d.changed()
	if len(d.store.rollouts) != 1 {
		t.Errorf("got %d rollouts", len(d.store.rollouts))
	}
}

// Another priority is a change where it puts a template before or after another one of the device.
func TestAPriorityThatKeepsTheOrderTouchesNoDevice(t *testing.T) {
	other := option
	other.Text = "2"
	for priority, rollouts := range map[int64]int{-5: 0, 0: 0, 7: 1} {
		d := newDaemons(t, 20, testTimes, option, other)
		d.store.tagTemplate(1, "all", true)
		d.store.tagTemplate(2, "all", true)
		d.changed()
		d.after(5 * time.Minute)
		before := len(d.store.rollouts)
		moved := d.store.current().Templates[0].Template
		moved.Priority = priority
		d.store.template(moved)
		d.changed()
		if n := len(d.store.rollouts) - before; n != rollouts {
			t.Errorf("priority %d: %d rollouts, want %d", priority, n, rollouts)
		}
	}
}

// A priority that puts a template behind another one began a rollout of three waves, although the two are about
// different places and no device changed.
func TestAnOrderThatChangesNoDeviceTouchesNone(t *testing.T) {
	for name, c := range map[string]struct {
		key      string
		reads    fleet.Inputs
		rollouts int
	}{
		"another option":                {"options.relaysEnabled", fleet.Inputs{Known: true}, 0},
		"a folder":                      {"folders.handbook", fleet.Inputs{Known: true}, 0},
		"the same option":               {"Options.maxSendKbps", fleet.Inputs{Known: true}, 1},
		"all options":                   {"options", fleet.Inputs{Known: true}, 1},
		"everything":                    {"", fleet.Inputs{Known: true}, 1},
		"a program that reads the rest": {"options.relaysEnabled", fleet.Inputs{Known: true, Config: true}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			here, other := option, option
			here.Key, here.Reads = "options.maxSendKbps", fleet.Inputs{Known: true}
			other.Key, other.Reads = c.key, c.reads
			d := newDaemons(t, 20, testTimes, here, other)
			d.store.tagTemplate(1, "all", true)
			d.store.tagTemplate(2, "all", true)
			d.changed()
			d.after(5 * time.Minute)
			before := len(d.store.rollouts)
			moved := d.store.current().Templates[0].Template
			moved.Priority = 7
			d.store.template(moved)
			d.changed()
			if n := len(d.store.rollouts) - before; n != c.rollouts {
				t.Errorf("%d rollouts, want %d", n, c.rollouts)
			}
		})
	}
}

func TestWhatIsTakenBackBeforeAnyDeviceGotItLeavesNoRollout(t *testing.T) {
	d := newDaemons(t, 20, testTimes, option)
	for _, s := range d.sites {
		s.away = true
	}
	d.store.tagTemplate(1, "all", true)
	d.changed()
	d.store.tagTemplate(1, "all", false)
	d.changed()
	r := d.store.rollouts
	if len(r) != 1 || r[0].Status != fleet.RolloutSuperseded || r[0].SupersededBy != 2 ||
		len(d.store.admission.Holds()) != 0 || d.at(3) != 2 {
		t.Errorf("got %+v, a device at %d", r, d.at(3))
	}
}

// A change of one member takes over what the others still wait for. What was halted is not started by it.
func TestAChangeOfOneMemberTakesOverTheRest(t *testing.T) {
	for name, halted := range map[string]bool{"of a running one": false, "of a halted one": true} {
		t.Run(name, func(t *testing.T) {
			d := newDaemons(t, 20, testTimes, option, fleet.Template{Op: fleet.OpSet, Key: "options.y", Text: "1"})
			d.store.tagTemplate(2, "one", true)
			d.store.tagTemplate(1, "all", true)
			d.changed()
			first := d.first()
			if halted {
				if _, err := d.runner.Halt(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
			}
			other := (slices.Index(d.all, first) + 1) % 20
			d.store.tagDevice(other, "one", true)
			d.changed()
			d.is(1, fleet.RolloutSuperseded)
			r := d.newest()
			if len(r.Members) != 19 || !slices.Equal(r.Carries, []int64{2, 3}) || (r.Status == fleet.RolloutPaused) != halted {
				t.Fatalf("got %s with %d members that carries %v", r.Status, len(r.Members), r.Carries)
			}
			if got := d.having("options.x", "1"); halted && got != 1 {
				t.Errorf("%d devices have it", got)
			}
			// The undo takes back both, also on the device that the first rollout had reached.
			if _, err := d.undo(t.Context(), r.ID); err != nil {
				t.Fatal(err)
			}
			d.changed()
			if err := d.arrived(); err != nil || d.having("options.x", "1") != 0 {
				t.Errorf("%d devices have it: %v", d.having("options.x", "1"), err)
			}
		})
	}
}

func TestAMendedTemplateAsksForApprovalAnew(t *testing.T) {
	o := testTimes
	o.ApprovalThreshold.Devices = 12
	ctx := fleet.WithActor(context.Background(), "nora")
	d := newDaemons(t, 14, o, option)
	d.store.tagTemplate(1, "all", true)
	d.changed()
	d.after(time.Hour)
	if r := d.newest(); r.Status != fleet.RolloutWaiting || !r.Unapproved() ||
		!strings.Contains(r.Reason, "threshold of 12") {
		t.Fatalf("got %s: %s", r.Status, r.Reason)
	}
	if _, err := d.runner.Approve(ctx, 1); err != nil {
		t.Fatal(err)
	}
	d.changed()
	d.is(1, fleet.RolloutRunning)
	mended := d.store.current().Templates[0].Template
	mended.Text = "2"
	d.store.template(mended)
	d.changed()
	d.after(time.Hour)
	if r := d.newest(); r.ID != 2 || !r.Unapproved() || r.Status != fleet.RolloutWaiting {
		t.Fatalf("got %+v", r)
	}
	if got := d.having("options.x", "1"); got != 1 {
		t.Errorf("%d devices have the first text, want what was admitted to stay so", got)
	}
}

// An undo that touches devices of another rollout brings back what it reached, and the rest waits for its turn still.
func TestAnUndoAdmitsNoDeviceToWhatAnotherRolloutBrings(t *testing.T) {
	d := newDaemons(t, 30, testTimes, option, fleet.Template{Op: fleet.OpSet, Key: "options.y", Text: "1"})
	d.store.tagTemplate(1, "all", true)
	d.changed()
	d.after(10 * time.Minute)
	d.is(1, fleet.RolloutSucceeded)
	d.store.tagTemplate(2, "all", true)
	d.changed()
	if _, err := d.undo(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	d.changed()
	d.is(1, fleet.RolloutUndone)
	d.is(2, fleet.RolloutSuperseded)
	if back, next := d.store.rollouts[2], d.store.rollouts[3]; back.Undoes != 1 || len(back.Members) != 1 ||
		len(next.Members) != 29 ||
		d.having("options.y", "1") > 2 {
		t.Errorf("got %+v and %d members, %d devices have what the other brings", back, len(next.Members),
			d.having("options.y", "1"))
	}
	d.after(10 * time.Minute)
	if err := d.arrived(); err != nil {
		t.Error(err)
	}
}

func TestAnUndoHasNoWavesAndIsNotUndone(t *testing.T) {
	d := rolling(t, 20)
	d.set(d.first(), func(s *site) { s.stuck = true })
	if _, err := d.undo(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	d.changed()
	d.is(1, fleet.RolloutUndone)
	if r := d.newest(); r.Undoes != 1 || r.Status != fleet.RolloutRunning || len(r.Members) != 1 {
		t.Fatalf("got %+v", r)
	}
	ctx := context.Background()
	for _, do := range []func(context.Context, int64) (fleet.Rollout, error){d.runner.Pause, d.runner.Halt,
		func(ctx context.Context, id int64) (fleet.Rollout, error) {
			undone, _, err := d.runner.Undo(ctx, id, fleet.UndoApproval{})
			return undone, err
		}} {
		_, err := do(ctx, 2)
		wantCode(t, err, fleet.CodeConflict)
	}
	_, _, err := d.runner.Undo(ctx, 1, fleet.UndoApproval{})
	wantCode(t, err, fleet.CodeConflict)
	d.set(d.store.rollouts[1].Members[0].Device, func(s *site) { s.stuck = false })
	d.is(2, fleet.RolloutSucceeded)
}

func TestProgramsThatReadTheFleetAreEvaluatedTwiceNotForEveryDevice(t *testing.T) {
	runs := 0
	d := newDaemons(t, 40, testTimes, fleet.Template{Op: fleet.OpSet, Key: "options.x", Text: "devices",
		Reads: fleet.Inputs{Known: true, Devices: true}})
	d.runner.o.Evaluator = words{&runs}
	d.store.tagTemplate(1, "all", true)
	d.changed()
	runs = 0
	d.store.tagDevice(0, "y", true) // that no program counts
	d.changed()
	if len(d.store.rollouts) != 1 || runs != 2 {
		t.Errorf("got %d rollouts after %d evaluations", len(d.store.rollouts), runs)
	}
	d.store.tagDevice(0, "x", true)
	d.changed()
	if got := d.store.rollouts; len(got) != 2 || len(got[1].Members) != 40 {
		t.Errorf("got %d rollouts", len(got))
	}
}

var readsVars = fleet.Inputs{Known: true, Device: fleet.FactsNamed([]string{"vars"})}

func TestVarsGoOutToTheDevicesWhoseProgramsReadThem(t *testing.T) {
	d := newDaemons(t, 40, testTimes, fleet.Template{Op: fleet.OpSet, Key: "options.x", Text: "vars", Reads: readsVars},
		option)
	d.store.current().TagVars = map[fleet.Tag]fleet.SavedVars{}
	for n := range 30 {
		d.store.tagDevice(n, "site", true)
	}
	d.store.tagTemplate(1, "all", true)
	d.changed()
	d.after(time.Hour)
	before := len(d.store.rollouts)
	d.is(int64(before), fleet.RolloutSucceeded)
	d.store.vars(fleet.VarsOwner{Tag: "else"}, `{"a":1}`)
	d.store.vars(fleet.VarsOwner{Device: deviceN(35)}, `{"a":2}`)
	d.changed()
	if got := len(d.store.rollouts); got != before || d.at(35) != d.store.current().Generation {
		t.Errorf("the vars of one device made %d rollouts", got-before)
	}
	d.store.vars(fleet.VarsOwner{Tag: "site"}, `{"a":3}`)
	d.changed()
	if got := d.store.rollouts[before:]; len(got) != 1 || len(got[0].Members) != 30 {
		t.Errorf("the vars of a tag on 30 devices made %d rollouts", len(got))
	}
}

func TestVarsThatMoveTheAPIAreRolledOutToTwo(t *testing.T) {
	d := newDaemons(t, 2, testTimes, fleet.Template{Op: fleet.OpMerge, Key: "gui", Text: "access", Reads: readsVars})
	d.store.current().TagVars = map[fleet.Tag]fleet.SavedVars{}
	d.runner.o.Evaluator = words{}
	d.store.tagTemplate(1, "all", true)
	d.runner.step(context.Background())
	before := len(d.store.rollouts)
	d.store.vars(fleet.VarsOwner{Tag: "all"}, `{"a":1}`)
	d.runner.step(context.Background())
	if got := d.store.rollouts[before:]; len(got) != 1 || !slices.Equal(got[0].WavePlan, accessWaves) {
		t.Errorf("got %+v", got)
	}
}

// There is no way back into a daemon whose API moved out of reach: one first, however few they are. What only says one
// of the words is no such change.
func TestWhatMovesTheAPIIsRolledOutToTwo(t *testing.T) {
	for _, test := range []struct {
		key, text string
		rollout   bool
	}{
		{"gui.apiKey", `{}`, true}, {"gui", `{"Address": "0.0.0.0:8384"}`, true}, {"", `{"gui": {"useTLS": true}}`, true},
		{"gui", "broken", true},
		{"", `{"options": {"natEnabled": true}, "folders": [{"label": "address book"}]}`, false},
		{"gui", `{"theme": "address"}`, false},
		{"options.announceLANAddresses", `{}`, false}, {"gui.theme", `{}`, false},
	} {
		d := newDaemons(t, 2, testTimes, fleet.Template{Op: fleet.OpMerge, Key: test.key, Text: test.text})
		d.store.tagTemplate(1, "all", true)
		d.runner.step(context.Background())
		if got := len(d.store.rollouts) == 1; got != test.rollout {
			t.Errorf("%s %s: a rollout: %t, want %t", test.key, test.text, got, test.rollout)
		} else if got && !slices.Equal(d.store.rollouts[0].WavePlan, accessWaves) {
			t.Errorf("%s: got waves %v", test.key, d.store.rollouts[0].WavePlan)
		}
	}
}

func TestASettlementThatCannotBeKeptDidNotHappen(t *testing.T) {
	d := newDaemons(t, 20, testTimes, option)
	d.store.tagTemplate(1, "all", true)
	d.store.broken = &fleet.Error{Code: fleet.CodeUnavailable, Message: "read-only"}
	d.changed()
	if d.at(0) != 0 || len(d.runner.live) != 0 {
		t.Errorf("a device is at %d, %d rollouts", d.at(0), len(d.runner.live))
	}
	d.store.broken = nil
	d.changed()
	if len(d.store.rollouts) != 1 || len(d.store.rollouts[0].Members) != 20 {
		t.Errorf("got %+v", d.store.rollouts)
	}
}
