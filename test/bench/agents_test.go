package bench

import (
	"bufio"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
)

// bareTunnel is what both ends of an idle tunnel took together in an experiment with nothing but TLS and HTTP/2.
const bareTunnel = 89 << 10

// BenchmarkAgents: the whole fleet behind agents, which the farm's process runs, beside the same fleet reached
// directly.
func BenchmarkAgents(b *testing.B) {
	for b.Loop() {
		sim, places := startFarm(b)
		direct := measureDirect(b, places)
		s := &tunnelled{sim: sim, listen: fmt.Sprintf("127.0.0.1:%d", daemon.FreePort(b)),
			home: seedHome(b, withoutAddress(places))}
		s.start(b)
		s.connect(b, len(places))
		s.watch(b, len(places), direct)
		s.restart(b, len(places), direct)
		besiege(b, s, places)
		var done outcome
		sim.ask(b, order{Do: "agents"}, &done)
		s.Stop()
	}
}

// directly is how the fleet does that is reached at its addresses.
type directly struct {
	rest rest
	back time.Duration // until all are watched after a restart
}

func measureDirect(b *testing.B, places []place) (d directly) {
	b.Helper()
	s := server.Start(b, server.Options{Home: seedHome(b, places)})
	waitOnline(b, s, len(places))
	settle(b, s)
	d.rest = restOf(b, s.PID())
	s.Stop()
	began := time.Now()
	s = server.Start(b, server.Options{Home: s.Home})
	waitOnline(b, s, len(places))
	d.back = time.Since(began)
	s.Stop()
	return d
}

func withoutAddress(places []place) []place {
	blank := make([]place, len(places))
	for i, p := range places {
		p.Host = ""
		blank[i] = p
	}
	return blank
}

// tunnelled is a server whose devices are reached by their agents.
type tunnelled struct {
	*server.Server
	sim          *child
	home, listen string
}

func (s *tunnelled) start(b *testing.B) {
	b.Helper()
	s.Server = server.Start(b, server.Options{Home: s.home, AgentListen: s.listen})
}

// connect starts the agents while no device is watched: what is on top then is the tunnels.
func (s *tunnelled) connect(b *testing.B, want int) {
	b.Helper()
	if err := s.Client.PutMode(b.Context(), string(fleet.ModePaused)); err != nil {
		b.Fatal(err)
	}
	settle(b, s.Server)
	var done outcome
	s.sim.ask(b, order{Do: "tidy"}, &done)
	own, theirs := usageOf(b, s.PID()), usageOf(b, s.sim.pid())
	s.sim.ask(b, order{Do: "agents", Server: s.listen}, &done)
	first, _ := s.waitTunnels(b, want)
	settle(b, s.Server)
	idle := restOf(b, s.PID())
	s.sim.ask(b, order{Do: "tidy"}, &done)
	here, there := idle.resident-own.resident, usageOf(b, s.sim.pid()).resident-theirs.resident
	judge(here+there <= bareTunnel*int64(want),
		"agents: memory per idle tunnel: Muster's end %s, the agent's end %s (goal: at most %d KiB together, as a bare "+
			"experiment); nothing watched: %.3f cores; the first %d were there after %.1f s, with %.1f s of processor time",
		perDevice(here), perDevice(there), bareTunnel>>10, idle.cores, want, first.Seconds(),
		(idle.cpu - own.cpu).Seconds())
}

func (s *tunnelled) watch(b *testing.B, want int, direct directly) {
	b.Helper()
	if err := s.Client.PutMode(b.Context(), string(fleet.ModeOn)); err != nil {
		b.Fatal(err)
	}
	waitOnline(b, s.Server, want)
	settle(b, s.Server)
	var idle rest
	profile(b, s.Server, "agents", func() { idle = restOf(b, s.PID()) })
	judge(idle.cores < 0.1, "agents at rest: %.3f cores, directly %.3f (goal: under 0.1)", idle.cores, direct.rest.cores)
	say("agents: memory per watched idle device: %s, directly %s; %d descriptors, directly %d", perDevice(idle.resident),
		perDevice(direct.rest.resident), idle.files, direct.rest.files)
}

// restart has the agents find their server gone and back.
func (s *tunnelled) restart(b *testing.B, want int, direct directly) {
	b.Helper()
	s.Stop()
	began := time.Now()
	s.start(b)
	ready := time.Since(began)
	_, most := s.waitTunnels(b, want)
	tunnels := time.Since(began)
	waitOnline(b, s.Server, want)
	all := time.Since(began)
	settle(b, s.Server)
	judge(all < 2*time.Minute,
		"agents after a restart of the server: it is ready after %.1f s, all tunnels are back after %.1f s, at most %d in a "+
			"second, and all are watched after %.1f s (goal: within two minutes), directly after %.1f s",
		ready.Seconds(), tunnels.Seconds(), most, all.Seconds(), direct.back.Seconds())
}

// waitTunnels waits for so many accepted agents. It gives how long that took, and how many came in one second at most.
func (s *tunnelled) waitTunnels(b *testing.B, want int) (took time.Duration, most int) {
	b.Helper()
	began, before := time.Now(), 0
	at := began
	for {
		pause(b.Context(), time.Second)
		now := s.tunnels(b)
		most = max(most, int(float64(now-before)/time.Since(at).Seconds()))
		before, at = now, time.Now()
		if now >= want {
			return time.Since(began), most
		}
		if time.Since(began) > 10*time.Minute {
			b.Fatalf("only %d of %d agents are connected", now, want)
		}
	}
}

// tunnels are those of accepted devices, by the metrics.
func (s *tunnelled) tunnels(b *testing.B) int {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, s.URL+"/metrics", nil)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.Token)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if value, found := strings.CutPrefix(lines.Text(), `muster_tunnels{state="accepted"} `); found {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				b.Fatal(err)
			}
			return int(n)
		}
	}
	b.Fatal("the metrics have no tunnels")
	return 0
}
