package rollout

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

var testTimes = Options{Policy: Policy{SoakTime: 30 * time.Second, ProgressDeadline: time.Minute}}

var option = fleet.Template{Op: fleet.OpSet, Key: "options.x", Text: "1"}

// rolling is a fleet of n devices of which the first wave has an option.
func rolling(t *testing.T, n int) *daemons {
	t.Helper()
	d := newDaemons(t, n, testTimes, option, generatedTemplates[0])
	d.store.tagTemplate(1, "all", true)
	d.changed()
	if r := d.newest(); r.Status != fleet.RolloutRunning || r.Wave != 1 || d.having("options.x", "1") != 1 {
		t.Fatalf("got %+v", r)
	}
	return d
}

// first is the device of the first wave.
func (d *daemons) first() fleet.DeviceID { return d.newest().Members[0].Device }

func TestAWaveFollowsWhenTheOneBeforeIsGoodForTheSoakTime(t *testing.T) {
	d := rolling(t, 20)
	for _, having := range []int{1, 3, 20} {
		d.after(29 * time.Second)
		if got := d.having("options.x", "1"); got != having {
			t.Fatalf("%d devices have it before the soak time is over, want %d", got, having)
		}
		d.after(time.Second)
	}
	r := d.newest()
	if r.Status != fleet.RolloutSucceeded || r.EndedAt.IsZero() || r.Reason != "20 devices passed all gates" {
		t.Errorf("got %+v", r)
	}
	if writes := d.store.writes; writes > 5 {
		t.Errorf("%d writes to the store for three waves", writes)
	}
}

func TestAChangeAtADaemonStartsTheSoakTimeAnew(t *testing.T) {
	d := rolling(t, 20)
	d.after(20 * time.Second)
	d.set(d.first(), func(s *site) { s.has["options.other"] = "theirs" })
	d.clock = d.clock.Add(time.Second)
	d.sites[d.first()].pass.Observed = "an older one"
	d.runner.DeviceChanged(d.first())
	d.run()
	d.pass(d.first())
	d.after(20 * time.Second)
	if r := d.newest(); r.Wave != 1 {
		t.Errorf("got wave %d, 20 seconds after the change", r.Wave)
	}
	d.after(15 * time.Second)
	if r := d.newest(); r.Wave != 2 {
		t.Errorf("got wave %d, 35 seconds after the change", r.Wave)
	}
}

func TestStatusesDoNotKeepTheSoakTimeFromEnding(t *testing.T) {
	d := rolling(t, 20)
	writes := d.store.writes
	for range 29 {
		d.after(time.Second)
		d.set(d.first(), func(*site) {})
	}
	if d.store.writes != writes {
		t.Errorf("%d writes while nothing happened", d.store.writes-writes)
	}
	d.after(time.Second)
	if r := d.newest(); r.Wave != 2 {
		t.Errorf("got wave %d: %s", r.Wave, r.Reason)
	}
}

func TestTheFirstFailedGateHalts(t *testing.T) {
	for name, test := range map[string]struct {
		do    func(*site)
		after time.Duration
		gate  fleet.Gate
	}{
		"a folder newly in error": {func(s *site) { s.errors = map[string]string{"x": "no space"} }, 0,
			fleet.GateFolders},
		"a program that fails": {func(s *site) { s.pass.Failed = "line 3" }, 0, fleet.GatePlan},
		"a key that is stopped": {func(s *site) {
			s.pass.Waiting = []fleet.WaitingChange{{Wish: "w", Key: "options.x",
				Stopped: true}}
		}, 0, fleet.GatePlan},
		"an API that is gone":         {func(s *site) { s.away = true }, time.Minute, fleet.GateAPI},
		"a plan that never gets done": {func(s *site) { s.pass.Unsent = "options.x" }, time.Minute, fleet.GatePlan},
	} {
		t.Run(name, func(t *testing.T) {
			d := rolling(t, 20)
			first := d.first()
			test.do(d.sites[first])
			d.runner.DeviceChanged(first)
			d.run()
			if test.after > 0 {
				d.after(test.after - time.Second)
				d.is(1, fleet.RolloutRunning)
				d.after(time.Second)
			}
			r := d.newest()
			if r.Status != fleet.RolloutHalted || r.Halt == nil || r.Halt.Gate != test.gate || r.Halt.Device != first ||
				!strings.Contains(r.Next, "`muster rollout undo 1`") || !strings.Contains(r.Next, "`muster rollout resume 1`") {
				t.Fatalf("got %s, %+v", r.Status, r.Halt)
			}
			d.after(time.Hour)
			if got := d.having("options.x", "1"); got != 1 {
				t.Errorf("%d devices have it after the halt", got)
			}
			// A person resumes it in spite of that: the same device does not halt it again.
			if _, err := d.runner.Resume(t.Context(), 1); err != nil {
				t.Fatal(err)
			}
			d.after(time.Hour)
			if r = d.newest(); r.Status != fleet.RolloutSucceeded || !strings.Contains(r.Reason,
				"19 devices passed all gates") {
				t.Errorf("got %s: %s", r.Status, r.Reason)
			}
		})
	}
}

// Members that wait for the same workers get where they should one after the other: while one does, none is late.
func TestALargeFleetIsNotLate(t *testing.T) {
	d := newDaemons(t, 100, Options{Policy: Policy{SoakTime: time.Second, ProgressDeadline: 10 * time.Second,
		Waves: []string{"1", rest}}}, option)
	for _, s := range d.sites {
		s.stuck = true
	}
	d.store.tagTemplate(1, "all", true)
	d.changed()
	for range 100 {
		for _, id := range d.all {
			if s := d.sites[id]; s.stuck && s.pass.Unsent != "" {
				d.set(id, func(s *site) { s.stuck = false })
				break
			}
		}
		d.after(9 * time.Second)
	}
	d.after(time.Minute)
	d.is(1, fleet.RolloutSucceeded)
}

func TestWhatWaitsForAPersonNeitherFailsNorPasses(t *testing.T) {
	d := newDaemons(t, 20, testTimes, option, generatedTemplates[0])
	d.store.tagTemplate(2, "all", true)
	d.changed()
	d.after(24 * time.Hour)
	r := d.newest()
	if r.Status != fleet.RolloutRunning || r.Wave != 1 || r.Members[0].State != fleet.MemberHeld ||
		!strings.Contains(r.Next, "waits for a person") {
		t.Fatalf("got %s in wave %d: %s", r.Status, r.Wave, r.Next)
	}
	d.consent()
	d.after(2 * time.Minute)
	d.is(1, fleet.RolloutSucceeded)
}

func TestWhatWaitedBeforeARolloutDoesNotHoldItUp(t *testing.T) {
	d := newDaemons(t, 20, testTimes, option)
	for _, s := range d.sites {
		s.base["folders.own"] = "" // somebody took the template away, and the removal waits
	}
	d.restart()
	d.store.tagTemplate(1, "all", true)
	d.changed()
	d.after(5 * time.Minute)
	r := d.newest()
	if r.Status != fleet.RolloutSucceeded || d.having("folders.own", "own") != 20 || d.having("options.x", "1") != 20 {
		t.Errorf("got %s: %s", r.Status, r.Reason)
	}
}

// A member that goes away before anything was sent to it proves nothing: it waits, and another goes first.
func TestAMemberThatVanishesUntouchedIsReplaced(t *testing.T) {
	d := newDaemons(t, 20, testTimes, option)
	for _, s := range d.sites {
		s.stuck = true
	}
	d.store.tagTemplate(1, "all", true)
	d.changed()
	gone := d.first()
	d.set(gone, func(s *site) { s.away = true })
	r := d.newest()
	if m, _ := r.Member(gone); m.Wave != 0 || r.Wave != 1 || !slices.Equal(r.Waves, []int{1, 2, 16}) ||
		d.first() == gone {
		t.Fatalf("got wave %d of %v, first %s", r.Wave, r.Waves, d.first().Short())
	}
	if _, held := d.store.admission.Hold(gone); !held {
		t.Error("the device that went away is not held again")
	}
	for _, id := range d.all {
		d.set(id, func(s *site) { s.stuck = false })
	}
	d.after(5 * time.Minute)
	d.is(1, fleet.RolloutSucceeded)
	d.set(gone, func(s *site) { s.away = false })
	if err := d.arrived(); err != nil {
		t.Error(err)
	}
}

func TestTheFirstDeviceIsAHealthyOneAndTheUnwellComeNext(t *testing.T) {
	d := newDaemons(t, 20, testTimes, option)
	for n := range 3 {
		d.sites[deviceN(n)].errors = map[string]string{"x": "it was so before"}
	}
	d.sites[deviceN(4)].away = true
	d.store.tagTemplate(1, "all", true)
	d.changed()
	r := d.newest()
	wave := func(n int) int { m, _ := r.Member(deviceN(n)); return m.Wave }
	if wave(3)+wave(5) < 2 || wave(0)+wave(1) != 4 || wave(4) != 0 || r.Members[len(r.Members)-1].Device != deviceN(4) {
		t.Errorf("got waves %d %d %d %d", wave(0), wave(1), wave(3), wave(4))
	}
	d.after(5 * time.Minute)
	d.is(1, fleet.RolloutSucceeded)
}

// A device that is not watched because a mode says so cannot answer: it is neither away nor late.
func TestPausingWatchesHaltsNoRollout(t *testing.T) {
	d := rolling(t, 20)
	first := d.first()
	d.set(first, func(s *site) { s.mode = fleet.ModePaused })
	d.after(time.Hour)
	if r := d.newest(); r.Status != fleet.RolloutRunning || r.Members[0].State != fleet.MemberHeld ||
		!strings.Contains(r.Next, "it is not watched (mode paused)") {
		t.Fatalf("got %s, next %q", r.Status, r.Next)
	}
	d.set(first, func(s *site) { s.mode, s.untried = fleet.ModeOn, true })
	d.after(time.Hour)
	d.is(1, fleet.RolloutRunning)
	d.set(first, func(s *site) { s.untried = false })
	d.after(5 * time.Minute)
	d.is(1, fleet.RolloutSucceeded)
}

func TestARolloutWaitsUntilItIsKnownWhichDevicesCanBeReached(t *testing.T) {
	d := newDaemons(t, 20, testTimes, option)
	for _, s := range d.sites {
		s.untried = true
	}
	d.store.tagTemplate(1, "all", true)
	d.changed()
	for _, id := range d.all[:19] {
		d.set(id, func(s *site) { s.untried = false })
		d.after(startGrace / 2)
		d.is(1, fleet.RolloutWaiting)
	}
	d.after(startGrace)
	r := d.newest()
	if m, _ := r.Member(d.all[19]); r.Status != fleet.RolloutRunning || m.Wave != 0 {
		t.Errorf("got %s, the last device in wave %d: no rollout waits for one device for ever", r.Status, m.Wave)
	}
}

func TestAPersonPausesResumesAndHalts(t *testing.T) {
	ctx := fleet.WithActor(context.Background(), "anna")
	d := rolling(t, 20)
	must := func(r fleet.Rollout, err error) fleet.Rollout {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	must(d.runner.Pause(ctx, 1))
	d.after(time.Hour)
	if r := d.newest(); r.Status != fleet.RolloutPaused || r.Wave != 1 || r.Reason != "paused by anna" {
		t.Fatalf("got %s in wave %d: %s", r.Status, r.Wave, r.Reason)
	}
	must(d.runner.Resume(ctx, 1))
	if r := must(d.runner.Halt(ctx, 1)); r.Halt.By != "anna" || r.Halt.Gate != "" {
		t.Errorf("got %+v", r.Halt)
	}
	must(d.runner.Resume(ctx, 1))
	d.after(10 * time.Minute)
	d.is(1, fleet.RolloutSucceeded)
	for name, do := range map[string]func(context.Context, int64) (fleet.Rollout, error){
		"pause": d.runner.Pause, "resume": d.runner.Resume, "halt": d.runner.Halt, "approve": d.runner.Approve,
	} {
		if _, err := do(ctx, 1); fleet.CodeOf(err) != fleet.CodeConflict {
			t.Errorf("%s of one that is over: got %v, want conflict", name, err)
		}
	}
}

// With every admitted member waived there was none to be judged after a restart, and the next wave never came.
func TestARolloutResumedInSpiteOfItsWholeWaveGoesOnAfterARestart(t *testing.T) {
	d := newDaemons(t, 20, testTimes, option)
	for _, s := range d.sites {
		s.stuck = true
	}
	d.store.tagTemplate(1, "all", true)
	d.changed()
	d.after(testTimes.ProgressDeadline)
	d.is(1, fleet.RolloutHalted)
	if _, err := d.runner.Resume(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	for _, s := range d.sites {
		s.stuck = false
	}
	d.restart()
	d.after(5 * time.Minute)
	d.is(1, fleet.RolloutSucceeded)
}
