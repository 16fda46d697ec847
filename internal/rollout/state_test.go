package rollout

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"muster/internal/fleet"
)

var t0 = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

var testRules = rules{soak: 30 * time.Second, patience: time.Minute}

func deviceN(n int) fleet.DeviceID {
	var hash [32]byte
	hash[0], hash[1] = byte(n), byte(n>>8)
	return fleet.DeviceIDOf(hash)
}

// begun is a rollout of n ready, healthy devices with its first wave admitted.
func begun(t *testing.T, n int) state {
	t.Helper()
	s := state{Rollout: fleet.Rollout{ID: 1, Generation: 5, Before: 4, Carries: []int64{5}, Status: fleet.RolloutWaiting}}
	var candidates []candidate
	for i := range n {
		candidates = append(candidates, candidate{device: deviceN(i), ready: true, healthy: true, was: fleet.ConfigInSync})
	}
	s, c := s.start(candidates, t0)
	if s.Status != fleet.RolloutRunning || s.Wave != 1 || len(c.admit) != 1 || !c.persist || !c.members {
		t.Fatalf("got %+v, %+v", s, c)
	}
	return s
}

// seen gives every admitted member the same fact, but for some.
func seen(s state, kind factKind, but map[fleet.DeviceID]fact) map[fleet.DeviceID]fact {
	facts := map[fleet.DeviceID]fact{}
	for _, m := range s.admitted() {
		facts[m.Device] = fact{kind: kind}
		if f, ok := but[m.Device]; ok {
			facts[m.Device] = f
		}
	}
	return facts
}

func TestWavesAreOneThenATenthThenTheRest(t *testing.T) {
	for n, want := range map[int][]int{1: {1}, 2: {1, 1}, 3: {1, 1, 1}, 11: {1, 2, 8}, 20: {1, 2, 17}, 1000: {1, 100, 899}} {
		if got := wavesOf(n); !slices.Equal(got, want) {
			t.Errorf("%d devices: got %v, want %v", n, got, want)
		}
	}
}

func TestAWaveFollowsWhenTheOneBeforeIsGoodForTheSoakTime(t *testing.T) {
	s := begun(t, 20)
	now := t0
	for wave, size := range []int{2, 17} {
		s, _ = s.look(seen(s, factPending, nil), testRules, now)
		s, _ = s.look(seen(s, factGood, nil), testRules, now)
		var c command
		if s, c = s.look(seen(s, factGood, nil), testRules, now.Add(29*time.Second)); c.persist {
			t.Fatalf("wave %d ended before its soak time: %+v", wave+1, c)
		}
		now = now.Add(30 * time.Second)
		if s, c = s.look(seen(s, factGood, nil), testRules, now); s.Wave != wave+2 || len(c.admit) != size {
			t.Fatalf("got wave %d with %d devices, want %d with %d", s.Wave, len(c.admit), wave+2, size)
		}
	}
	s, _ = s.look(seen(s, factGood, nil), testRules, now)
	s, c := s.look(seen(s, factGood, nil), testRules, now.Add(30*time.Second))
	if s.Status != fleet.RolloutSucceeded || !c.persist || s.EndedAt.IsZero() {
		t.Errorf("got %s", s.Status)
	}
}

func TestTroubleStartsTheSoakTimeAnew(t *testing.T) {
	s := begun(t, 20)
	s, _ = s.look(seen(s, factGood, nil), testRules, t0)
	s, _ = s.look(seen(s, factPending, nil), testRules, t0.Add(20*time.Second))
	s, _ = s.look(seen(s, factGood, nil), testRules, t0.Add(25*time.Second))
	if s, c := s.look(seen(s, factGood, nil), testRules, t0.Add(40*time.Second)); c.persist || s.Wave != 1 {
		t.Errorf("the next wave was admitted 15 s after trouble")
	}
}

func TestTheFirstFailedGateHalts(t *testing.T) {
	first := deviceN(0)
	for name, test := range map[string]struct {
		fact  fact
		after time.Duration
		gate  fleet.Gate
	}{
		"a folder newly in error":     {fact{kind: factFailed, gate: fleet.GateFolders, saw: "folder x"}, 0, fleet.GateFolders},
		"a program that fails":        {fact{kind: factFailed, gate: fleet.GatePlan, saw: "line 3"}, 0, fleet.GatePlan},
		"an API that is gone":         {fact{kind: factAway, touched: true, saw: "refused"}, 61 * time.Second, fleet.GateAPI},
		"a plan that never gets done": {fact{kind: factPending, saw: "options.x"}, 61 * time.Second, fleet.GatePlan},
	} {
		t.Run(name, func(t *testing.T) {
			s := begun(t, 20)
			but := map[fleet.DeviceID]fact{s.Members[0].Device: test.fact}
			s, c := s.look(seen(s, factGood, but), testRules, t0)
			if test.after > 0 {
				if c.persist {
					t.Fatalf("halted at once: %+v", s.Halt)
				}
				s, c = s.look(seen(s, factGood, but), testRules, t0.Add(test.after))
			}
			if s.Status != fleet.RolloutHalted || s.Halt == nil || s.Halt.Gate != test.gate || s.Halt.Device != first || s.Halt.Saw == "" || s.Next == "" {
				t.Fatalf("got %s, %+v", s.Status, s.Halt)
			}
			if len(c.admit) > 0 || !c.persist {
				t.Errorf("got %+v", c)
			}
			if again, c := s.look(seen(s, factGood, nil), testRules, t0.Add(time.Hour)); c.persist || again.Wave != 1 {
				t.Error("a halted rollout went on")
			}
		})
	}
}

// Patience is for a device that Muster is at: who was not looked at yet is not late.
func TestPatienceBeginsWhenADeviceIsLookedAt(t *testing.T) {
	s := begun(t, 20)
	s, _ = s.look(nil, testRules, t0)
	s, _ = s.look(seen(s, factUnseen, nil), testRules, t0.Add(time.Hour))
	s, c := s.look(seen(s, factPending, nil), testRules, t0.Add(2*time.Hour))
	if c.persist {
		t.Fatalf("halted at once: %+v", s.Halt)
	}
	if s, _ = s.look(seen(s, factPending, nil), testRules, t0.Add(2*time.Hour+59*time.Second)); s.Status != fleet.RolloutRunning {
		t.Errorf("got %s before the patience was over", s.Status)
	}
	if s, _ = s.look(seen(s, factPending, nil), testRules, t0.Add(2*time.Hour+61*time.Second)); s.Status != fleet.RolloutHalted {
		t.Errorf("got %s when it was", s.Status)
	}
}

func TestWhatWaitsForAPersonNeitherFailsNorPasses(t *testing.T) {
	s := begun(t, 20)
	s, _ = s.look(seen(s, factHeld, nil), testRules, t0)
	s, c := s.look(seen(s, factHeld, nil), testRules, t0.Add(24*time.Hour))
	if c.persist || s.Status != fleet.RolloutRunning || s.Wave != 1 {
		t.Errorf("got %s in wave %d", s.Status, s.Wave)
	}
}

// A member that goes away before anything was sent to it proves nothing: it waits, and another goes first.
func TestAMemberThatVanishesUntouchedIsReplaced(t *testing.T) {
	s := begun(t, 20)
	gone := s.Members[0].Device
	s, c := s.look(seen(s, factAway, nil), testRules, t0)
	if !slices.Equal(c.hold, []fleet.DeviceID{gone}) || len(c.admit) > 0 || s.Wave != 0 || s.Status != fleet.RolloutWaiting {
		t.Fatalf("got %+v in wave %d, %s", c, s.Wave, s.Status)
	}
	var candidates []candidate
	for _, m := range s.Members {
		candidates = append(candidates, candidate{device: m.Device, ready: m.Device != gone, healthy: true})
	}
	s, c = s.start(candidates, t0)
	m, _ := s.Member(gone)
	if m.Wave != 0 || !slices.Equal(s.Waves, []int{1, 2, 16}) || len(c.admit) != 1 || c.admit[0] == gone {
		t.Errorf("got wave %d of the one that vanished, waves %v, %+v", m.Wave, s.Waves, c)
	}
}

// A later wave of which everybody vanishes is made up anew; those before it stay.
func TestAWaveOfWhichEverybodyVanishesIsMadeAnew(t *testing.T) {
	s := begun(t, 20)
	first := s.Members[0].Device
	s, _ = s.look(seen(s, factGood, nil), testRules, t0)
	s, _ = s.look(seen(s, factGood, nil), testRules, t0.Add(30*time.Second))
	s, c := s.look(seen(s, factAway, map[fleet.DeviceID]fact{first: {kind: factGood}}), testRules, t0.Add(31*time.Second))
	if s.Status != fleet.RolloutWaiting || s.Wave != 1 || len(c.hold) != 2 || !slices.Equal(s.Waves, []int{1, 0}) {
		t.Fatalf("got %s in wave %d of %v, %+v", s.Status, s.Wave, s.Waves, c)
	}
	if s, _, _ = s.pause("anna"); s.Status != fleet.RolloutPaused {
		t.Errorf("got %s", s.Status)
	}
	if s, _, _ = s.resume("anna", t0); s.Status != fleet.RolloutWaiting {
		t.Errorf("got %s after a pause", s.Status)
	}
	var candidates []candidate
	for _, m := range s.Members {
		if m.Device != first {
			candidates = append(candidates, candidate{device: m.Device, ready: true, healthy: true})
		}
	}
	s, c = s.start(candidates, t0.Add(time.Minute))
	if s.Wave != 2 || !slices.Equal(s.Waves, []int{1, 1, 2, 16}) || len(c.admit) != 1 || len(s.Members) != 20 {
		t.Errorf("got wave %d of %v, %+v, %d members", s.Wave, s.Waves, c, len(s.Members))
	}
}

// A member that somebody deletes is no failure, not even when it was written to.
func TestADeletedMemberIsLeftOut(t *testing.T) {
	s := begun(t, 20)
	first := s.Members[0].Device
	s, _ = s.look(seen(s, factGood, nil), testRules, t0)
	s, _ = s.look(seen(s, factGood, nil), testRules, t0.Add(30*time.Second))
	s, c := s.look(seen(s, factGood, map[fleet.DeviceID]fact{first: {kind: factGone, touched: true}}), testRules, t0.Add(31*time.Second))
	if s.Status != fleet.RolloutRunning || s.Wave != 2 || len(c.hold) != 1 {
		t.Errorf("got %s in wave %d, %+v", s.Status, s.Wave, c)
	}
}

func TestTheFirstDeviceIsAHealthyOneAndTheUnwellComeNext(t *testing.T) {
	s := state{Rollout: fleet.Rollout{Status: fleet.RolloutWaiting}}
	var candidates []candidate
	for i := range 20 {
		candidates = append(candidates, candidate{device: deviceN(i), ready: i != 4, healthy: i > 2})
	}
	s, _ = s.start(candidates, t0)
	wave := func(n int) int {
		m, _ := s.Member(deviceN(n))
		return m.Wave
	}
	if wave(3) != 1 || wave(0) != 2 || wave(1) != 2 || wave(4) != 0 || wave(19) != 3 {
		t.Errorf("got waves %d %d %d %d %d", wave(3), wave(0), wave(1), wave(4), wave(19))
	}
}

func TestAPersonPausesResumesAndHalts(t *testing.T) {
	s := begun(t, 20)
	s, _, err := s.pause("anna")
	if err != nil || s.Status != fleet.RolloutPaused {
		t.Fatal(s.Status, err)
	}
	s, _ = s.look(seen(s, factGood, nil), testRules, t0)
	if s, c := s.look(seen(s, factGood, nil), testRules, t0.Add(time.Hour)); c.persist || s.Wave != 1 {
		t.Fatal("a paused rollout went on")
	}
	s, _, _ = s.resume("anna", t0)
	s, _, err = s.haltBy("anna", t0)
	if err != nil || s.Status != fleet.RolloutHalted || s.Halt.By != "anna" || s.Halt.Gate != "" {
		t.Fatalf("got %s %+v, %v", s.Status, s.Halt, err)
	}
	s, _, err = s.resume("anna", t0)
	if err != nil || s.Status != fleet.RolloutRunning || s.Halt != nil {
		t.Fatalf("got %s, %v", s.Status, err)
	}
	over := s.supersede(9, "template 1 changed", t0)
	for name, do := range map[string]func() error{
		"pause":  func() error { _, _, err := over.pause("anna"); return err },
		"resume": func() error { _, _, err := over.resume("anna", t0); return err },
		"halt":   func() error { _, _, err := over.haltBy("anna", t0); return err },
		"undo":   func() error { _, err := over.undo("anna", t0); return err },
	} {
		if err := do(); fleet.CodeOf(err) != fleet.CodeConflict {
			t.Errorf("%s of a superseded rollout: got %v, want conflict", name, err)
		}
	}
}

// A halted rollout that is resumed does not halt over the same device again.
func TestResumingWaivesTheDeviceThatFailed(t *testing.T) {
	s := begun(t, 20)
	bad := map[fleet.DeviceID]fact{s.Members[0].Device: {kind: factFailed, gate: fleet.GateFolders, saw: "x"}}
	s, _ = s.look(seen(s, factGood, bad), testRules, t0)
	s, c, err := s.resume("anna", t0)
	if err != nil || !c.members || !s.Members[0].Waived {
		t.Fatalf("got %+v, %v", s.Members[0], err)
	}
	s, _ = s.look(seen(s, factGood, bad), testRules, t0)
	if s, _ = s.look(seen(s, factGood, bad), testRules, t0.Add(31*time.Second)); s.Wave != 2 {
		t.Errorf("got wave %d, %s", s.Wave, s.Status)
	}
}

func TestAnUndoneRolloutEndsWhenWhatItReachedIsBack(t *testing.T) {
	s := begun(t, 20)
	s, err := s.undo("anna", t0)
	if err != nil || s.Status != fleet.RolloutUndoing {
		t.Fatal(s.Status, err)
	}
	if s, _ := s.ended(map[fleet.DeviceID]fact{deviceN(0): {kind: factPending}, deviceN(1): {kind: factGood}}, t0); s.Status != fleet.RolloutUndoing {
		t.Error("it ended while a device was on its way back")
	}
	if s, _ := s.ended(map[fleet.DeviceID]fact{deviceN(0): {kind: factAway}, deviceN(1): {kind: factGood}}, t0); s.Status != fleet.RolloutUndoing {
		t.Error("it ended while a device was away: it may need a person's answer when it is back")
	}
	s, c := s.ended(map[fleet.DeviceID]fact{deviceN(0): {kind: factFailed, saw: "line 3"}, deviceN(1): {kind: factGood}}, t0)
	if s.Status != fleet.RolloutUndone || !c.persist || s.Next == "" {
		t.Errorf("got %s, %q", s.Status, s.Next)
	}
}

// Whatever happens to the devices and whatever people do: nobody is admitted twice without having been put back, waves
// are admitted in order, never while something is wrong with a member, and nobody is forgotten.
func TestTheStateMachineAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "devices")
		s := state{Rollout: fleet.Rollout{ID: 1, Generation: 2, Before: 1, Carries: []int64{2}, Status: fleet.RolloutWaiting}}
		admitted := map[fleet.DeviceID]bool{} // the model: who is at the new generation
		facts := map[fleet.DeviceID]fact{}
		now := t0
		do := func(next state, c command) {
			for _, id := range c.hold {
				if !admitted[id] {
					t.Fatalf("%s is held back and was not admitted", id.Short())
				}
				delete(admitted, id)
				delete(facts, id)
			}
			for _, id := range c.admit {
				if admitted[id] {
					t.Fatalf("%s is admitted twice", id.Short())
				}
				admitted[id] = true
			}
			if len(c.admit)+len(c.hold) > 0 && !c.persist {
				t.Fatal("admission that is not kept")
			}
			s = next
		}
		var candidates []candidate
		for i := range n {
			ready := rapid.Bool().Draw(t, fmt.Sprint("ready ", i))
			candidates = append(candidates, candidate{device: deviceN(i), ready: ready, healthy: rapid.Bool().Draw(t, "healthy")})
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(1, 50).Draw(t, "seconds")) * time.Second)
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				if next, c, err := s.pause("a"); err == nil {
					do(next, c)
				}
			case 1, 2:
				if next, c, err := s.resume("a", now); err == nil {
					do(next, c)
				}
			case 3:
				if next, c, err := s.haltBy("a", now); err == nil {
					do(next, c)
				}
			default:
				if s.Status == fleet.RolloutWaiting {
					do(s.start(slices.DeleteFunc(slices.Clone(candidates), func(c candidate) bool { return admitted[c.device] }), now))
					continue
				}
				bad := false
				for _, m := range s.admitted() {
					f := fact{kind: factKind(rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, 1, 2, 3, 4}).Draw(t, "fact")), gate: fleet.GateFolders, saw: "x"}
					f.touched = rapid.Bool().Draw(t, "touched")
					facts[m.Device] = f
					bad = bad || f.kind == factFailed || f.kind == factPending || f.kind == factHeld || f.kind == factAway && f.touched
				}
				wave := s.Wave
				next, c := s.look(facts, testRules, now)
				if next.Wave > wave && (bad || s.Status != fleet.RolloutRunning) {
					t.Fatalf("wave %d was admitted although something was wrong in wave %d", next.Wave, wave)
				}
				if next.Status == fleet.RolloutSucceeded && slices.Contains(next.Waves, 0) && next.unmade() {
					t.Fatal("it succeeded although a wave was still to be made")
				}
				if next.Wave > wave+1 {
					t.Fatalf("wave %d follows wave %d", next.Wave, wave)
				}
				do(next, c)
			}
			checkMembers(t, s, candidates, admitted)
		}
	})
}

func checkMembers(t *rapid.T, s state, candidates []candidate, admitted map[fleet.DeviceID]bool) {
	if s.Status == fleet.RolloutWaiting || len(s.Members) == 0 {
		return
	}
	if len(s.Members) != len(candidates) {
		t.Fatalf("%d members of %d devices", len(s.Members), len(candidates))
	}
	inWave := make([]int, len(s.Waves))
	for _, m := range s.Members {
		if want := m.Wave > 0 && m.Wave <= s.Wave || s.Status == fleet.RolloutSucceeded; admitted[m.Device] != want {
			t.Fatalf("%s in wave %d of %d: admitted is %v", m.Device.Short(), m.Wave, s.Wave, admitted[m.Device])
		}
		if m.Wave > 0 {
			inWave[m.Wave-1]++
		}
	}
	if !slices.Equal(inWave, s.Waves) {
		t.Fatalf("waves are %v, members are in %v", s.Waves, inWave)
	}
}
