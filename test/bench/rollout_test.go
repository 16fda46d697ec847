package bench

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
)

const (
	rolloutSoak = 20 * time.Second
	soakWindow  = 10 * time.Second // in which the cost of a rollout that soaks is measured, and that of none
)

// BenchmarkRollout: one option is set for all devices of fleets of several sizes. The cost is processor time of Muster
// from the save until the rollout has succeeded, less what the fleet costs at rest. The yardstick is a bare client
// that reads and writes the same.
func BenchmarkRollout(b *testing.B) {
	for b.Loop() {
		var perDevice []time.Duration
		for _, n := range []int{1000, 3000, 10_000} {
			if n > daemons() && n > 1000 {
				continue
			}
			some, stop := farmOf(b, min(n, daemons()))
			c := startBare(b)
			before := usageOf(b, c.pid()).cpu
			c.ask(b, bareOrder{Do: "write", Daemons: some}, &bareOutcome{})
			bare := usageOf(b, c.pid()).cpu - before
			c.stop()
			muster := rollOut(b, some)
			stop()
			perDevice = append(perDevice, muster/time.Duration(len(some)))
			judge(ratio(muster, bare) <= 2.5,
				"rollout of one option to %d devices: %.2f s of CPU per 1,000 devices, bare GET and PATCH: %.2f s: %.2f times "+
					"(goal: at most 2.5)",
				len(some), perThousand(muster, len(some)), perThousand(bare, len(some)), ratio(muster, bare))
		}
		least, most := slices.Min(perDevice), slices.Max(perDevice)
		judge(ratio(most, least) <= 1.2,
			"CPU per device of the dearest size: %.2f times that of the cheapest (goal: at most 1.2)\n", ratio(most, least))
	}
}

// farmOf is so many simulated daemons in the process of the measuring clock.
func farmOf(b *testing.B, n int) (places []place, stop func()) {
	b.Helper()
	farm, err := stsim.New(stsim.Options{Count: n, Seed: 3, Folders: farmFolders, Network: 93, Shared: true, Quiet: true})
	if err != nil {
		b.Fatal(err)
	}
	if err := farm.Start(); err != nil {
		b.Fatal(err)
	}
	for _, d := range farm.Daemons() {
		places = append(places, place{d.ID(), d.APIKey(), d.Host(), d.Port(), d.FolderIDs()})
	}
	return places, func() { _ = farm.Close() }
}

func perThousand(cpu time.Duration, n int) float64 { return cpu.Seconds() * 1000 / float64(n) }

// rollOut gives the processor time of a rollout to these daemons.
func rollOut(b *testing.B, places []place) time.Duration {
	b.Helper()
	s := server.Start(b, server.Options{Home: seedHome(b, places), Soak: rolloutSoak, Waves: "1,rest"})
	defer s.Stop()
	waitOnline(b, s, len(places))
	settle(b, s)
	idle := cpuOver(b, s, soakWindow)
	began, start := time.Now(), usageOf(b, s.PID()).cpu
	s.Template("set", "options.maxRecvKbps", fmt.Sprint(4000+len(places)%997), allTag)
	waitRollout(b, s, func(r api.Rollout) bool { return r.Wave == 2 })
	waitRollout(b, s, func(r api.Rollout) bool { return r.Status == string(fleet.RolloutSucceeded) })
	used, took := usageOf(b, s.PID()).cpu-start, time.Since(began)
	atRest := time.Duration(float64(idle) * took.Seconds() / soakWindow.Seconds())
	say("%d devices: %v from the save to success, two soak times of %v included; %.3f cores at rest before",
		len(places), took.Round(time.Second), rolloutSoak, cores(idle, soakWindow))
	return max(used-atRest, time.Millisecond)
}

func cpuOver(b *testing.B, s *server.Server, window time.Duration) time.Duration {
	b.Helper()
	before := usageOf(b, s.PID()).cpu
	pause(b.Context(), window)
	return usageOf(b, s.PID()).cpu - before
}

func waitRollout(b *testing.B, s *server.Server, is func(api.Rollout) bool) {
	b.Helper()
	for limit := time.Now().Add(10 * time.Minute); time.Now().Before(limit); pause(b.Context(), 250*time.Millisecond) {
		all, err := s.Client.Rollouts(b.Context(), client.List{})
		if err != nil {
			b.Fatal(err)
		}
		if len(all) > 0 && all[0].Status == string(fleet.RolloutHalted) {
			b.Fatalf("the rollout halted: %s", all[0].Reason)
		}
		if len(all) > 0 && is(all[0]) {
			return
		}
	}
	b.Fatal("the rollout did not get there")
}
