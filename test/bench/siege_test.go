package bench

import (
	"context"
	"fmt"
	"io"
	"sync"
	"syscall"
	"testing"
	"time"

	"muster/internal/fleet"
	"muster/test/rogue"
)

const (
	siegeRounds   = 5   // each has a calm half and one under siege
	siegeChanges  = 400 // in each half, of different devices
	siegeCrowd    = 1000
	siegePatience = time.Minute
	siegePause    = time.Second // of an agent that was cut off
	siegeMayGrow  = 32 << 20
)

// siegeOrder is what the process of hostile agents is told to do.
type siegeOrder struct {
	Do     string `json:"do"` // devices, begin, end
	Server string `json:"server"`
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
	case "end":
		g.end()
		g.all.Wait()
		return siegeOutcome{Made: g.made}, nil
	}
	return siegeOutcome{}, fmt.Errorf("hostile agents cannot %q", o.Do)
}

func (g *siege) makeDevices() (made siegeOutcome, err error) {
	for range siegeDeeds(nil) {
		one, err := rogue.NewIdentity()
		if err != nil {
			return made, err
		}
		g.devices, made.Devices = append(g.devices, one), append(made.Devices, one.ID)
	}
	return made, nil
}

func siegeDeeds(end <-chan struct{}) []rogue.Deed {
	return append(rogue.Deeds(), rogue.SlowDeeds(end)...)
}

// begin has each device do its deed again and again, beside a crowd of clients that prove no device.
func (g *siege) begin(at string) {
	var ctx context.Context
	ctx, g.end = context.WithCancel(context.Background())
	g.all.Go(func() { g.made += rogue.Crowd(ctx, at, siegeCrowd) })
	for i, deed := range siegeDeeds(ctx.Done()) {
		g.all.Go(func() {
			for ctx.Err() == nil {
				_ = g.devices[i].Run(ctx, at, deed)
				pause(ctx, siegePause)
			}
		})
	}
}

// besiege compares how soon changes of the fleet's devices are known, with and without hostile agents beside them, in
// turns.
func besiege(b *testing.B, s *tunnelled, places []place) {
	b.Helper()
	hostile, err := startChild("rogue")
	if err != nil {
		b.Fatal(err)
	}
	defer hostile.stop()
	var made siegeOutcome
	hostile.ask(b, siegeOrder{Do: "devices"}, &made)
	for _, id := range made.Devices {
		s.Register(id, "key", "", 8384)
	}
	// what both halves need is there before
	measureSomeChanges(b, s.Server, s.sim, places, siegeChanges, siegePatience)
	settle(b, s.Server)
	before := usageOf(b, s.PID())
	var calm, during []latencies
	began, under := time.Now(), time.Duration(0)
	missing := 0
	for range siegeRounds {
		one, none := measureSomeChanges(b, s.Server, s.sim, places, siegeChanges, siegePatience)
		calm = append(calm, one)
		since := time.Now()
		hostile.ask(b, siegeOrder{Do: "begin", Server: s.listen}, &made)
		other, some := measureSomeChanges(b, s.Server, s.sim, places, siegeChanges, siegePatience)
		during = append(during, other)
		hostile.ask(b, siegeOrder{Do: "end"}, &made)
		under, missing = under+time.Since(since), missing+none+some
	}
	after, over := usageOf(b, s.PID()), time.Since(began)
	calmP50, calmP99 := middleOf(calm)
	p50, p99 := middleOf(during)
	judge(p50 <= calmP50*11/10 && missing == 0,
		"hostile agents and %.0f connections a second without certificate: a change on one of the others: p50 %v, p99 %v; "+
			"%.2f and %.2f times those between (goal: within 10 %%), %d of %d missing; Muster %.3f cores",
		float64(made.Made)/under.Seconds(), p50, p99, ratio(p50, calmP50), ratio(p99, calmP99),
		missing, 2*siegeRounds*siegeChanges, cores(after.cpu-before.cpu, over))
	held, at := heldAfter(b, s.PID(), before.resident+siegeMayGrow)
	judge(held-before.resident <= siegeMayGrow,
		"hostile agents: Muster holds %d MiB on top (goal: at most %d) %.0f s later, %d MiB at their end, when garbage of "+
			"their connections was among it\n", (held-before.resident)>>20, siegeMayGrow>>20, at.Seconds(),
		(after.resident-before.resident)>>20)
}

// siegeGarbage is how long the collector may take to give memory back: it runs every two minutes at rest.
const siegeGarbage = 5 * time.Minute

// heldAfter waits until a process holds no more memory than so much, and gives what it holds then.
func heldAfter(b *testing.B, pid int, most int64) (held int64, at time.Duration) {
	b.Helper()
	for began := time.Now(); ; pause(b.Context(), 2*time.Second) {
		held, at = usageOf(b, pid).resident, time.Since(began)
		if held <= most || at > siegeGarbage {
			return held, at
		}
	}
}

// middleOf are the medians of some rounds.
func middleOf(rounds []latencies) (p50, p99 time.Duration) {
	var halves, slow []time.Duration
	for _, r := range rounds {
		halves, slow = append(halves, r.p50), append(slow, r.p99)
	}
	return middle(halves), middle(slow)
}
