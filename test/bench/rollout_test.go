package bench

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
)

const (
	// In restPeriod every daemon is asked for its status once, so two of them cost the same where nothing happens.
	restPeriod  = time.Minute
	rolloutSoak = 5 * time.Minute // longer than what is measured
	savedAgain  = 7 * time.Second // after a change its daemon says once more that it saved it
)

// BenchmarkRollout: one option is set for all devices of fleets of several sizes. The cost is processor time of Muster
// from the save until every daemon has it and all that they say of it is worked off, less what the fleet costs at rest.
// The yardstick is a bare client that reads and writes the same. Afterwards the rollout soaks.
func BenchmarkRollout(b *testing.B) {
	for b.Loop() {
		var perDevice []time.Duration
		for _, n := range []int{1000, 3000, 10_000} {
			if n > daemons() && n > 1000 {
				continue
			}
			n = min(n, daemons())
			some := newRolloutFarm(b, n)
			before := some.bare(b)
			muster := some.rollOut(b)
			bare := (before + some.bare(b)) / 2 // what else runs on the machine comes and goes
			_ = some.Close()
			perDevice = append(perDevice, muster/time.Duration(n))
			judge(ratio(muster, bare) <= 2.5,
				"rollout of one option to %d devices: %.2f s of CPU per 1,000 devices, bare GET and PATCH: %.2f s: %.2f times "+
					"(goal: at most 2.5)",
				n, perThousand(muster, n), perThousand(bare, n), ratio(muster, bare))
		}
		least, most := slices.Min(perDevice), slices.Max(perDevice)
		judge(ratio(most, least) <= 1.2,
			"CPU per device of the dearest size: %.2f times that of the cheapest (goal: at most 1.2)\n", ratio(most, least))
	}
}

// rolloutFarm is simulated daemons in the process of the measuring clock.
type rolloutFarm struct {
	*stsim.Farm
	places []place
}

func newRolloutFarm(b *testing.B, n int) *rolloutFarm {
	b.Helper()
	farm, err := stsim.New(
		stsim.Options{Count: n, Seed: 3, Folders: farmFolders(), Network: 93, Shared: true, Quiet: true},
	)
	if err != nil {
		b.Fatal(err)
	}
	if err := farm.Start(); err != nil {
		b.Fatal(err)
	}
	f := &rolloutFarm{Farm: farm}
	for _, d := range farm.Daemons() {
		f.places = append(f.places, place{d.ID(), d.APIKey(), d.Host(), d.Port(), d.FolderIDs()})
	}
	return f
}

func perThousand(cpu time.Duration, n int) float64 { return cpu.Seconds() * 1000 / float64(n) }

// bare returns the processor time that a client without any logic needs for the same reads and writes.
func (f *rolloutFarm) bare(b *testing.B) time.Duration {
	b.Helper()
	c := startBare(b)
	defer c.stop()
	before := usageOf(b, c.pid()).cpu
	c.ask(b, bareOrder{Do: "write", Daemons: f.places}, &bareOutcome{})
	return usageOf(b, c.pid()).cpu - before
}

// rollOut gives the processor time of a rollout to the daemons.
func (f *rolloutFarm) rollOut(b *testing.B) time.Duration {
	b.Helper()
	n := len(f.places)
	s := server.Start(b, server.Options{Home: seedHome(b, f.places), Soak: rolloutSoak, Waves: "rest"})
	defer s.Stop()
	waitOnline(b, s, n)
	awaitIdle(b, s)
	rest := cpuOver(b, s, restPeriod)
	for _, d := range f.Daemons() {
		d.ResetCounters()
	}
	began, start := time.Now(), usageOf(b, s.PID()).cpu
	var arrived, untilThen time.Duration
	profile(b, s, fmt.Sprint("rollout-", n), func() {
		s.Template("set", "options.maxRecvKbps", fmt.Sprint(4000+n%997), allTag)
		f.waitInSync(b, s)
		arrived, untilThen = time.Since(began), usageOf(b, s.PID()).cpu-start
		pause(b.Context(), savedAgain)
	})
	measured := time.Since(began).Truncate(restPeriod) + restPeriod
	pause(b.Context(), time.Until(began.Add(measured)))
	used := usageOf(b, s.PID()).cpu - start
	soaking := cpuOver(b, s, restPeriod)
	reads := 0
	for _, d := range f.Daemons() {
		reads += d.Counters().ByRoute["GET /rest/config"]
	}
	judge(reads <= 2*n, "%.2f readings of the configuration for each device (goal: at most 2)", float64(reads)/float64(n))
	say("%d devices: %v from the save to the last outcome, %.2f s of CPU until then", n, arrived.Round(time.Second),
		untilThen.Seconds())
	judge(cores(soaking-rest, restPeriod) < 0.05,
		"at rest %.3f cores, while the rollout soaks %.3f (goal: less than 0.05 more)",
		cores(rest, restPeriod), cores(soaking, restPeriod))
	atRest := time.Duration(float64(rest) * ratio(measured, restPeriod))
	return max(used-atRest, time.Millisecond)
}

func cpuOver(b *testing.B, s *server.Server, window time.Duration) time.Duration {
	b.Helper()
	before := usageOf(b, s.PID()).cpu
	pause(b.Context(), window)
	return usageOf(b, s.PID()).cpu - before
}

// waitInSync waits until every daemon was written to and has what its templates ask for.
func (f *rolloutFarm) waitInSync(b *testing.B, s *server.Server) {
	b.Helper()
	for limit := time.Now().Add(10 * time.Minute); time.Now().Before(limit); pause(b.Context(), 2*time.Second) {
		written := !slices.ContainsFunc(f.Daemons(), func(d *stsim.Daemon) bool { return d.Counters().Writes == 0 })
		if !written {
			continue // the overview costs processor time of the server
		}
		now, err := s.Client.Overview(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if now.Configurations[string(fleet.ConfigInSync)] == len(f.places) {
			return
		}
		if len(now.Rollouts) == 1 && now.Rollouts[0].Status == string(fleet.RolloutHalted) {
			b.Fatalf("the rollout halted: %s", now.Rollouts[0].Reason)
		}
	}
	b.Fatal("the rollout did not get there")
}
