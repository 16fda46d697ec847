package bench

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"muster/internal/fleet"
	"muster/test/rogue"
	"muster/test/server"
)

const (
	siegeRounds   = 5   // each has a calm third, one under siege, and one beside a program that only computes
	siegeChanges  = 400 // in each third, of different devices
	siegeCrowd    = 1000
	siegePatience = time.Minute
	siegePause    = time.Second // of an agent that was cut off
	siegeMayGrow  = 32 << 20
)

// siegeOrder is what the process of hostile agents is told to do.
type siegeOrder struct {
	Do     string  `json:"do"` // devices, begin, burn, end
	Server string  `json:"server"`
	Cores  float64 `json:"cores"` // that burn takes
}

type siegeOutcome struct {
	Devices []fleet.DeviceID `json:"devices,omitempty"`
	Made    int64            `json:"made"` // connections without a certificate
}

// runRogue is the process of hostile agents. It gives way: what it costs itself is not what is measured.
func runRogue(in io.Reader, out io.Writer) error {
	if err := syscall.Setpriority(syscall.PRIO_PROCESS, 0, 19); err != nil {
		return err
	}
	return obey(in, out, (&siege{}).do)
}

type siege struct {
	devices []rogue.Identity
	end     context.CancelFunc
	all     sync.WaitGroup
	made    int64
}

func (g *siege) do(o siegeOrder) (siegeOutcome, error) {
	switch o.Do {
	case "devices":
		return g.makeDevices()
	case "begin":
		g.begin(o.Server)
		return siegeOutcome{}, nil
	case "burn":
		g.burn(o.Cores)
		return siegeOutcome{}, nil
	case "end":
		g.end()
		g.all.Wait()
		made := g.made
		g.made = 0
		return siegeOutcome{Made: made}, nil
	}
	return siegeOutcome{}, fmt.Errorf("hostile agents cannot %q", o.Do)
}

func (g *siege) makeDevices() (made siegeOutcome, err error) {
	for range siegeBehaviours(nil) {
		one, err := rogue.NewIdentity()
		if err != nil {
			return made, err
		}
		g.devices, made.Devices = append(g.devices, one), append(made.Devices, one.ID)
	}
	return made, nil
}

func siegeBehaviours(end <-chan struct{}) []rogue.Behaviour {
	return append(rogue.Behaviours(), rogue.SlowBehaviours(end)...)
}

// begin has each device do its behaviour again and again, beside clients that prove no device.
func (g *siege) begin(at string) {
	var ctx context.Context
	ctx, g.end = context.WithCancel(context.Background())
	g.all.Go(func() { g.made += rogue.OpenUnidentified(ctx, at, siegeCrowd) })
	for i, behaviour := range siegeBehaviours(ctx.Done()) {
		g.all.Go(func() {
			for ctx.Err() == nil {
				_ = g.devices[i].Run(ctx, at, behaviour)
				pause(ctx, siegePause)
			}
		})
	}
}

// burn computes, and does nothing else, on so many cores: what hostile agents take of the same two cores is theirs, and
// not a cost of the server.
func (g *siege) burn(cores float64) {
	var ctx context.Context
	ctx, g.end = context.WithCancel(context.Background())
	began, before := time.Now(), ownProcessorTime()
	for range runtime.NumCPU() {
		g.all.Go(func() {
			for block := make([]byte, 64<<10); ctx.Err() == nil; {
				if float64(ownProcessorTime()-before) > cores*float64(time.Since(began)) {
					pause(ctx, time.Millisecond)
					continue
				}
				_ = sha256.Sum256(block)
			}
		})
	}
}

// ownProcessorTime is what this process took.
func ownProcessorTime() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// third is what was measured in a part of a round.
type third struct {
	latencies
	server, hostile float64 // cores
	made            int64   // connections without a certificate
	took            time.Duration
	grown           server.Memory // what the server held afterwards, less what it held before, without garbage
}

// besiege compares how soon changes of the fleet's devices are known, with hostile agents beside them, without, and
// beside a program that takes as much of the processors as the hostile agents did, in turns.
func besiege(b *testing.B, s *tunnelled, places []place) {
	b.Helper()
	hostile, err := startChild("rogue")
	if err != nil {
		b.Fatal(err)
	}
	defer hostile.stop()
	var devices siegeOutcome
	hostile.ask(b, siegeOrder{Do: "devices"}, &devices)
	for _, id := range devices.Devices {
		s.Register(id, "key", "", 8384)
	}
	missing := 0
	measure := func(o siegeOrder) (t third) {
		var done siegeOutcome
		held := s.Memory()
		own, rogues, began := usageOf(b, s.PID()).cpu, usageOf(b, hostile.pid()).cpu, time.Now()
		if o.Do != "" {
			hostile.ask(b, o, &done)
		}
		one, lost := measureSomeChanges(b, s.Server, s.sim, places, siegeChanges, siegePatience)
		t.latencies, missing = one, missing+lost
		t.took = time.Since(began)
		t.server = cores(usageOf(b, s.PID()).cpu-own, t.took)
		t.hostile = cores(usageOf(b, hostile.pid()).cpu-rogues, t.took)
		if o.Do != "" {
			hostile.ask(b, siegeOrder{Do: "end"}, &done)
		}
		t.made = done.Made
		t.grown = s.Memory().Less(held)
		return t
	}
	for range siegeRounds { // what the changes themselves need is there before
		measure(siegeOrder{})
	}
	awaitIdle(b, s.Server)
	var calm, during, busy []third
	for range siegeRounds {
		calm = append(calm, measure(siegeOrder{}))
		var under third
		profile(b, s.Server, "siege", func() { under = measure(siegeOrder{Do: "begin", Server: s.listen}) })
		during = append(during, under)
		busy = append(busy, measure(siegeOrder{Do: "burn", Cores: under.hostile}))
	}
	tellSiege(calm, during, busy, missing)
	tellGrowth(calm, during, busy)
}

// tellSiege prints the medians of all rounds.
func tellSiege(calm, during, busy []third, missing int) {
	a, b, c := middleOf(calm), middleOf(during), middleOf(busy)
	say("hostile agents and %.0f connections a second without certificate: a change on one of the others is known after "+
		"p50 %v, p99 %v; calm p50 %v, p99 %v; beside a program that computes as much as the hostile agents p50 %v, p99 %v",
		float64(b.made)/b.took.Seconds(), b.p50, b.p99, a.p50, a.p99, c.p50, c.p99)
	say("hostile agents: Muster took %.3f cores, calm %.3f; the hostile agents themselves %.3f, the program %.3f",
		b.server, a.server, b.hostile, c.hostile)
	judge(b.p50 <= c.p50*11/10 && missing == 0,
		"hostile agents: p50 is %.2f and p99 %.2f times that beside the program (goal: within 10 %%), %.2f and %.2f times "+
			"the calm one; the program alone makes it %.2f times the calm one; %d of %d missing",
		ratio(b.p50, c.p50), ratio(b.p99, c.p99), ratio(b.p50, a.p50), ratio(b.p99, a.p99), ratio(c.p50, a.p50), missing,
		3*siegeRounds*siegeChanges)
}

// tellGrowth prints what the server holds more after all parts of a kind. What a change leaves behind, such as pages
// that are used in part, is the same in each.
func tellGrowth(calm, during, busy []third) {
	a, b, c := sumOf(calm), sumOf(during), sumOf(busy)
	judge(b.Live <= siegeMayGrow && b.Resident <= max(a.Resident, c.Resident, 0)+siegeMayGrow,
		"hostile agents: memory without garbage grew by: %v; calm by %v; beside the program by %v (goal: at most %d MiB "+
			"more than without them)\n", b, a, c, siegeMayGrow>>20)
}

func sumOf(rounds []third) (sum server.Memory) {
	for _, r := range rounds {
		sum = sum.Plus(r.grown)
	}
	return sum
}

// middleOf has the median of each figure.
func middleOf(rounds []third) (m third) {
	var p50, p99, took []time.Duration
	var server, hostile []float64
	var made []int64
	for _, r := range rounds {
		p50, p99, took = append(p50, r.p50), append(p99, r.p99), append(took, r.took)
		server, hostile, made = append(server, r.server), append(hostile, r.hostile), append(made, r.made)
	}
	m.p50, m.p99, m.took = middle(p50), middle(p99), middle(took)
	m.server, m.hostile, m.made = middle(server), middle(hostile), middle(made)
	return m
}
