package hostile

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"muster/api"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/daemon"
	"muster/test/rogue"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

// What a server may hold on top because of agents, garbage not counted, and what one more round of the same may add to
// that. In bytes. Another round adds to a leak, and to nothing that is kept once.
const (
	mostGrowthByAgents = 32 << 20
	mostGrowthByRound  = 4 << 20
)

var soak = os.Getenv("MUSTER_SOAK") != ""

// Answers of daemons behind agents that hand on whatever they say: the ones that cost most.
var throughAgents = []answer{
	{"body of 10 GB", stsim.Faults{HugeBody: 10 << 30}, fleet.Unreachable, "larger than"},
	{"compression bomb", stsim.Faults{GzipBomb: 10 << 30}, fleet.Unreachable, "compressed"},
	{"another device's ID", stsim.Faults{MyID: other}, fleet.IdentityMismatch, other.Short() + " answers there"},
	{"redirect to a stranger", stsim.Faults{Redirect: "http://127.0.0.1:9/"}, fleet.Unreachable, "redirects"},
}

// besieged is a server whose agents are hostile, but for a few.
type besieged struct {
	*server.Server
	t      *testing.T
	agents string // HOST:PORT
	end    chan struct{}
	all    sync.WaitGroup // agents
}

// TestHostileAgents: agents that break every rule, and a thousand connections a second that prove no device. The state
// of each device says why it is not managed, and what is healthy does not notice.
func TestHostileAgents(t *testing.T) {
	t.Setenv("GOGC", "50") // little garbage: what grows is what the server holds
	corpus := throughAgents
	if soak {
		corpus = append(behindAgents(everywhere), inPlaces...)
	}
	const healthy = 3
	farm := simulated.Start(t, stsim.Options{Count: healthy + len(corpus), Folders: 2, Group: 1, Quiet: true, Network: 72})
	b := &besieged{t: t, agents: fmt.Sprintf("127.0.0.1:%d", daemon.FreePort(t)), end: make(chan struct{})}
	b.Server = server.Start(t, server.Options{AgentListen: b.agents})
	ctx, cancel := context.WithCancel(context.Background())
	b.all.Go(func() { _ = farm.RunAgents(ctx, b.agents) })
	t.Cleanup(func() { cancel(); close(b.end); b.all.Wait() })
	for _, d := range farm.Daemons()[:healthy] {
		b.Register(d.ID(), d.APIKey(), "", d.Port(), "healthy")
		b.WaitState(d.ID(), "online by its agent", func(s api.DeviceState) bool {
			return s.Connection == string(fleet.Online) && s.FoundBy == fleet.FoundByAgent
		})
	}
	resident, _ := memory(t, b.PID())
	before := b.Memory()
	others := bother(t, b.Server, farm.Daemons()[:healthy])
	rounds := b.rounds(ctx)
	for i, d := range farm.Daemons()[healthy:] {
		d.SetFaults(corpus[i].faults)
		b.Register(d.ID(), d.APIKey(), "", d.Port())
	}
	for i, a := range corpus {
		t.Run(a.name, func(t *testing.T) { a.check(t, b.Server, farm.Daemon(healthy+i)) })
	}
	others()
	if soak { // of answers that are as large as the largest good one two are in memory at any time
		for _, d := range farm.Daemons()[healthy:] {
			d.SetFaults(stsim.Faults{})
		}
	}
	b.staysSmall(before, append(rounds, b.Memory()))
	if _, most := memory(t, b.PID()); most-resident > mostGrowth { // garbage too
		t.Errorf("the server grew by %d MiB at its worst moment", (most-resident)>>10)
	}
}

// rounds has the agents do all their behaviours once, or as a soak four times. It gives what the server held after
// each.
func (b *besieged) rounds(ctx context.Context) (held []server.Memory) {
	count := 1
	if soak {
		count = 4
	}
	for range count {
		stop := b.unidentified(ctx)
		b.behaviours(ctx)
		stop()
		held = append(held, b.Memory())
	}
	return held
}

// behindAgents are the answers that an agent can hand on. How its daemon closes connections is hidden by the one that
// the agent has to the server, on which an answer breaks off by itself.
func behindAgents(answers []answer) (passed []answer) {
	for _, a := range answers {
		if a.faults.Cut > 0 {
			a.reason = "connection to the daemon failed"
		}
		if !a.faults.Refuse {
			passed = append(passed, a)
		}
	}
	return passed
}

// unidentified begins a thousand connections a second without a certificate, for a few seconds or until it is stopped.
// It returns what ends them.
func (b *besieged) unidentified(ctx context.Context) (stop func()) {
	most := 10 * time.Second
	if soak {
		most = time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, most)
	made := make(chan int64, 1)
	began := time.Now()
	go func() { made <- rogue.OpenUnidentified(ctx, b.agents, 1000) }()
	return func() {
		b.t.Helper()
		cancel()
		b.t.Logf("%d connections without a certificate in %v", <-made, min(most, time.Since(began)))
	}
}

// behaviours has an agent do each, once, and waits for what the state of its device says.
func (b *besieged) behaviours(ctx context.Context) {
	behaviours := rogue.Behaviours()
	if soak {
		behaviours = append(behaviours, rogue.SlowBehaviours(b.end)...)
	}
	devices := make([]rogue.Identity, len(behaviours))
	for i, behaviour := range behaviours {
		var err error
		if devices[i], err = rogue.NewIdentity(); err != nil {
			b.t.Fatal(err)
		}
		b.Register(devices[i].ID, "key", "", 8384)
		b.all.Go(func() { _ = devices[i].Run(ctx, b.agents, behaviour) })
	}
	for i, behaviour := range behaviours {
		b.t.Run(behaviour.Name, func(t *testing.T) {
			var state api.DeviceState
			wait.Until(t, func() string {
				var err error
				state, err = b.Client.DeviceState(t.Context(), string(devices[i].ID))
				if err == nil && state.Connection == string(fleet.Unreachable) && state.Next != "" &&
					strings.Contains(state.Reason, behaviour.Reason) {
					return ""
				}
				return fmt.Sprintf("want %q, got %s: %s, %v", behaviour.Reason, state.Connection, state.Reason, err)
			})
			t.Log(state.Reason)
		})
	}
}

// staysSmall compares what the server holds after each round, and after the answers of hostile daemons, with what it
// held when it had just started.
func (b *besieged) staysSmall(before server.Memory, after []server.Memory) {
	b.t.Helper()
	b.t.Logf("before: %v", before)
	for i, held := range after {
		when := fmt.Sprintf("after round %d", i+1)
		if i == len(after)-1 {
			when = "after the answers"
		}
		b.t.Logf("%s: %v", when, held)
		if grown := held.Resident - before.Resident; grown > mostGrowthByAgents {
			b.t.Errorf("%s the server holds %d MiB more than before", when, grown>>20)
		}
		if grown := held.Live - after[0].Live; grown > int64(i)*mostGrowthByRound {
			b.t.Errorf("%s the heap holds %d MiB more than after the first round", when, grown>>20)
		}
	}
}
