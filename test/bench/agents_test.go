package bench

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
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
		idle := s.connect(b, len(places))
		byAgents := s.watch(b, len(places))
		s.restart(b, len(places), &byAgents)
		tellWays(direct, byAgents, idle)
		besiege(b, s, places)
		var done outcome
		sim.ask(b, order{Do: "agents"}, &done)
		s.Stop()
	}
}

// way is how the fleet does that is reached in one of two ways.
type way struct {
	rest                 rest          // while all are watched
	ready, tunnels, back time.Duration // after a restart: of the server, until all tunnels are there, and all are watched
	most                 int           // tunnels that came in one second
}

func measureDirect(b *testing.B, places []place) (d way) {
	b.Helper()
	s := server.Start(b, server.Options{Home: seedHome(b, places)})
	waitOnline(b, s, len(places))
	awaitIdle(b, s)
	d.rest = restOf(b, s.PID())
	s.Stop()
	began := time.Now()
	s = server.Start(b, server.Options{Home: s.Home})
	d.ready = time.Since(began)
	waitOnline(b, s, len(places))
	d.back = time.Since(began)
	s.Stop()
	return d
}

// tellWays prints both ways beside each other, and what an idle tunnel takes.
func tellWays(direct, agents way, idle idleTunnels) {
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
	say("%d devices\n", daemons())
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 3, ' ', 0)
	for _, row := range [][3]string{
		{"", "directly", "by agents"},
		{"memory per idle tunnel, Muster's end", "", perDevice(idle.here)},
		{"memory per idle tunnel, the agent's end", "", perDevice(idle.there)},
		{"processor at rest, nothing watched", "", fmt.Sprintf("%.3f cores", idle.cores)},
		{"processor at rest, all watched", fmt.Sprintf("%.3f cores", direct.rest.cores),
			fmt.Sprintf("%.3f cores", agents.rest.cores)},
		{"memory per watched device", perDevice(direct.rest.resident), perDevice(agents.rest.resident)},
		{"open files", fmt.Sprint(direct.rest.files), fmt.Sprint(agents.rest.files)},
		{"restart: the server is ready after", seconds(direct.ready), seconds(agents.ready)},
		{"restart: all tunnels are back after", "", seconds(agents.tunnels)},
		{"restart: most tunnels in a second", "", fmt.Sprint(agents.most)},
		{"restart: all devices are watched after", seconds(direct.back), seconds(agents.back)},
	} {
		fmt.Fprintf(table, "    %s\t%s\t%s\n", row[0], row[1], row[2])
	}
	_ = table.Flush()
	judge(idle.here+idle.there <= bareTunnel*int64(daemons()),
		"agents: an idle tunnel takes %s at both ends together (goal: at most %d KiB, as in a bare experiment)",
		perDevice(idle.here+idle.there), bareTunnel>>10)
	judge(agents.rest.cores < 0.1, "agents: %.3f cores at rest (goal: under 0.1)", agents.rest.cores)
	judge(agents.back < 2*time.Minute, "agents: all are watched %.1f s after a restart (goal: within two minutes)",
		agents.back.Seconds())
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

// idleTunnels are what all tunnels together take while no device is watched.
type idleTunnels struct {
	here, there int64 // bytes without garbage: of Muster, and of the agents
	cores       float64
}

// connect starts the agents while no device is watched: what is on top then is the tunnels.
func (s *tunnelled) connect(b *testing.B, want int) (idle idleTunnels) {
	b.Helper()
	if err := s.Client.PutMode(b.Context(), string(fleet.ModePaused)); err != nil {
		b.Fatal(err)
	}
	awaitIdle(b, s.Server)
	var done outcome
	s.sim.ask(b, order{Do: "tidy"}, &done)
	own, theirs := s.Memory().Resident, usageOf(b, s.sim.pid()).resident
	s.sim.ask(b, order{Do: "agents", Server: s.listen}, &done)
	s.waitTunnels(b, want)
	awaitIdle(b, s.Server)
	idle.cores = restOf(b, s.PID()).cores
	s.sim.ask(b, order{Do: "tidy"}, &done)
	idle.here, idle.there = s.Memory().Resident-own, usageOf(b, s.sim.pid()).resident-theirs
	return idle
}

func (s *tunnelled) watch(b *testing.B, want int) (w way) {
	b.Helper()
	if err := s.Client.PutMode(b.Context(), string(fleet.ModeOn)); err != nil {
		b.Fatal(err)
	}
	waitOnline(b, s.Server, want)
	awaitIdle(b, s.Server)
	profile(b, s.Server, "agents", func() { w.rest = restOf(b, s.PID()) })
	return w
}

// restart has the agents find their server gone and back.
func (s *tunnelled) restart(b *testing.B, want int, w *way) {
	b.Helper()
	s.Stop()
	began := time.Now()
	s.start(b)
	w.ready = time.Since(began)
	w.most = s.waitTunnels(b, want)
	w.tunnels = time.Since(began)
	waitOnline(b, s.Server, want)
	w.back = time.Since(began)
	awaitIdle(b, s.Server)
}

// waitTunnels waits for so many accepted agents. It gives how many came in one second at most.
func (s *tunnelled) waitTunnels(b *testing.B, want int) (most int) {
	b.Helper()
	began, before := time.Now(), 0
	at := began
	for {
		pause(b.Context(), time.Second)
		now := s.tunnels(b)
		most = max(most, int(float64(now-before)/time.Since(at).Seconds()))
		before, at = now, time.Now()
		if now >= want {
			return most
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
