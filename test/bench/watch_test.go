package bench

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
	"muster/test/server"
)

// BenchmarkWatch: the whole fleet is contacted for the first time, then watched at rest, then some of it is in
// trouble. The yardstick is net/http with nothing around it, which sends the same requests and holds the same polls.
func BenchmarkWatch(b *testing.B) {
	for b.Loop() {
		sim, places := startFarm(b)
		say("%d simulated daemons in a process of their own", len(places))
		bare := measureBare(b, places)
		counters(b, sim) // those of the bare client

		home := seedHome(b, places)
		s := server.Start(b, server.Options{Home: home})
		began, start := time.Now(), usageOf(b, s.PID()).cpu
		profile(b, s, "contact", func() {
			waitOnline(b, s, len(places))
			awaitIdle(b, s)
		})
		contact := usageOf(b, s.PID()).cpu - start
		asked := counters(b, sim)
		say("first contact of all: Muster took %.1f s of processor time in %.0f s (and %.1f s to start), bare net/http "+
			"%.1f s with decoding, %.1f s without",
			contact.Seconds(), time.Since(began).Seconds(), start.Seconds(), bare.decoding.Seconds(), bare.contact.Seconds())
		say("a daemon accepted %.2f connections and was asked %.1f times", asked.each(asked.Accepted),
			asked.each(asked.Requests))
		judge(ratio(contact, bare.decoding) <= 1.5, "first contact of all: %.2f times the bare client (goal: at most 1.5)",
			ratio(contact, bare.decoding))

		pause(b.Context(), settling)
		var idle rest
		profile(b, s, "rest", func() { idle = restOf(b, s.PID()) })
		judge(idle.cores < 0.1, "at rest: Muster %.3f cores, bare net/http %.3f (goal: under 0.1)", idle.cores,
			bare.rest.cores)
		judge(ratio(idle.resident, bare.rest.resident) <= 1.3,
			"memory per watched idle device: Muster %s, bare net/http %s: %.2f times (goal: at most 1.3); %d descriptors",
			perDevice(idle.resident), perDevice(bare.rest.resident), ratio(idle.resident, bare.rest.resident), idle.files)

		say("the server has %s in memory, and a database of %s", fleet.ByteText(idle.resident),
			fleet.ByteText(sizeOf(b, home)))

		calm := measureChanges(b, s, sim, places)
		judge(calm.p99 < time.Second,
			"a change on a daemon to our event stream: p50 %v, p99 %v, max %v of %d (goal: p99 under 1 s)", calm.p50, calm.p99,
			calm.most, changes)

		troubles(b, s, sim, places, idle, calm)
		s.Stop()
	}
}

// settling is the time until a fleet is at rest after the first contact. A minute after its contact each daemon is
// asked once for what is not urgent, such as its conflict files.
const settling = 80 * time.Second

// measured are the figures of the bare client.
type measured struct {
	contact, decoding time.Duration // processor time
	rest              rest
}

type rest struct {
	usage
	cores float64
}

func measureBare(b *testing.B, places []place) (m measured) {
	b.Helper()
	c := startBare(b)
	var done bareOutcome
	c.ask(b, bareOrder{Do: "contact", Daemons: places}, &done)
	m.contact = usageOf(b, c.pid()).cpu
	c.stop()

	c = startBare(b)
	defer c.stop()
	c.ask(b, bareOrder{Do: "contact", Daemons: places, Decode: true, Hold: true}, &done)
	m.decoding = usageOf(b, c.pid()).cpu
	c.ask(b, bareOrder{Do: "count"}, &done)
	if int(done.Polls) < len(places)*95/100 { // the others are between two polls
		b.Fatalf("only %d of the bare client's %d polls hang", done.Polls, len(places))
	}
	m.rest = restOf(b, c.pid())
	return m
}

func startBare(b *testing.B) *child {
	b.Helper()
	c, err := startChild("bare")
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// restOf watches a process that has nothing to do but to hold its polls.
func restOf(b *testing.B, pid int) rest {
	b.Helper()
	before, began := usageOf(b, pid), time.Now()
	pause(b.Context(), idleFor())
	after := usageOf(b, pid)
	return rest{after, cores(after.cpu-before.cpu, time.Since(began))}
}

// sizeOf returns how many bytes the database in a home has, with its write-ahead log.
func sizeOf(b *testing.B, home string) (bytes int64) {
	b.Helper()
	files, err := filepath.Glob(filepath.Join(home, "muster.db*"))
	if err != nil {
		b.Fatal(err)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			b.Fatal(err)
		}
		bytes += info.Size()
	}
	return bytes
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func everybody(string) bool { return true }

// online counts those of some devices that are online.
func online(b testing.TB, s *server.Server, of func(id string) bool) int {
	b.Helper()
	states, err := s.Client.States(b.Context(), client.List{})
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for _, state := range states {
		if state.Connection == string(fleet.Online) && of(state.DeviceID) {
			n++
		}
	}
	return n
}

// waitOnline asks rarely: a list of all states is work too.
func waitOnline(b testing.TB, s *server.Server, want int) {
	b.Helper()
	deadline := time.Now().Add(5 * time.Minute)
	for {
		got := online(b, s, everybody)
		if got >= want {
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("only %d of %d daemons are online", got, want)
		}
		pause(b.Context(), max(time.Second, time.Duration(want-got)*2*time.Millisecond))
	}
}

// awaitIdle waits until what followed the first contact is worked off.
func awaitIdle(b testing.TB, s *server.Server) {
	b.Helper()
	for {
		before := usageOf(b, s.PID()).cpu
		pause(b.Context(), 2*time.Second)
		if usageOf(b, s.PID()).cpu-before < 800*time.Millisecond {
			return
		}
	}
}

const changes = 1000

type latencies struct{ p50, p99, most time.Duration }

const changesWithin = 2 * time.Minute

func measureChanges(b *testing.B, s *server.Server, sim *child, places []place) latencies {
	b.Helper()
	made, missing := measureSomeChanges(b, s, sim, places, changes, changesWithin)
	if missing > 0 {
		b.Fatalf("%d of %d changes are missing in the event stream", missing, changes)
	}
	return made
}

// measureSomeChanges changes a folder on one daemon after the other and waits for each to appear in the event stream.
// It counts those that do not.
func measureSomeChanges(b *testing.B, s *server.Server, sim *child, places []place, count int64,
	patience time.Duration) (made latencies, missing int) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var mu sync.Mutex // guards seen
	seen := map[int64]time.Time{}
	ended := make(chan error, 1)
	go func() {
		_, err := s.Client.Events(ctx, client.EventFilter{Types: []string{"folder"}}, 0, func(e api.Event) error {
			var data api.FolderEvent
			if err := json.Unmarshal(e.Data, &data); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if _, again := seen[data.Summary.Sequence]; !again {
				seen[data.Summary.Sequence] = time.Now()
			}
			return nil
		})
		ended <- err
	}()
	pause(ctx, time.Second) // the stream begins with what happens from then on
	first := rand.Int64N(1<<40) + 1<<40
	happened := map[int64]time.Time{}
	turns := slices.DeleteFunc(rand.Perm(len(places)), func(i int) bool { return !healthy(i) })
	for i := range count {
		daemon := turns[int(i)%len(turns)] // two changes of one daemon at about the same time are one event
		var done outcome
		sim.ask(b, order{Do: "change", Daemon: daemon, Folder: places[daemon].Folders[0], Number: first + i}, &done)
		happened[first+i] = done.At
		pause(ctx, 10*time.Millisecond)
	}
	for deadline := time.Now().Add(patience); ; pause(ctx, 50*time.Millisecond) {
		mu.Lock()
		missing = 0
		for number := range happened {
			if _, there := seen[number]; !there {
				missing++
			}
		}
		mu.Unlock()
		if missing == 0 || time.Now().After(deadline) {
			break
		}
	}
	cancel()
	if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
		b.Fatal(err)
	}
	var took []time.Duration
	for number, at := range happened {
		if came, there := seen[number]; there {
			took = append(took, came.Sub(at).Round(100*time.Microsecond))
		}
	}
	return latencies{quantile(took, 0.5), quantile(took, 0.99), quantile(took, 1)}, missing
}

// troubles: of a hundred daemons one flaps, one hangs and one is hostile. The others must not notice.
func troubles(b *testing.B, s *server.Server, sim *child, places []place, idle rest, calm latencies) {
	b.Helper()
	var done outcome
	sim.ask(b, order{Do: "trouble", On: true}, &done)
	defer sim.ask(b, order{Do: "trouble"}, &done)
	pause(b.Context(), 30*time.Second)
	troubled := restOf(b, s.PID())
	during := measureChanges(b, s, sim, places)
	others := map[string]bool{}
	for i, d := range places {
		others[string(d.ID)] = healthy(i)
	}
	fine := online(b, s, func(id string) bool { return others[id] })
	all := online(b, s, everybody)
	say("with 1 %% of the daemons flapping, 1 %% hanging and 1 %% hostile: %d others online, %d of those in trouble; "+
		"Muster %.3f cores (at rest %.3f), %s per device (at rest %s)",
		fine, all-fine, troubled.cores, idle.cores, perDevice(troubled.resident), perDevice(idle.resident))
	judge(during.p50 <= calm.p50*11/10 && during.p99 <= calm.p99*11/10,
		"a change on one of the others: p50 %v, p99 %v; %.2f and %.2f times those before (goal: within 10 %%)",
		during.p50, during.p99, ratio(during.p50, calm.p50), ratio(during.p99, calm.p99))
}
