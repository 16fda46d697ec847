package tunnel

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"muster/internal/fleet"
)

// agentOf is an agent of this version of the list, with a handler for all but hello and status.
func (m *manager) agentOf(list int, serve http.HandlerFunc) *Tunnel {
	m.t.Helper()
	return m.untilAccepted(m.agentWith(Hello{List: list}, serve))
}

func TestFactsAboutDisksAreReadWhenTheirNumberChanges(t *testing.T) {
	t.Parallel()
	var number, readings atomic.Int64
	number.Store(7)
	m := startManager(t, accept)
	tunnel := m.agentOf(ListVersion, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(DisksHeader, fmt.Sprint(number.Load()))
		if r.URL.Path == DisksPath {
			readings.Add(1)
			_, _ = fmt.Fprintf(w, `{"home":{"free":%d,"total":1000},"folders":[{"folder":"b","path":"missing"},
				{"folder":"a","space":{"free":1,"total":2},"path":"there","marker":"there"}]}`, number.Load())
		}
	})
	ask := func() {
		t.Helper()
		if _, _, err := get(t, tunnel, "/rest/system/status"); err != nil {
			t.Fatal(err)
		}
	}
	if m.Disks(tunnel.device) != nil {
		t.Error("there are facts before the agent told them")
	}
	ask()
	told := func(free int64) func() bool {
		return func() bool { f := m.Disks(tunnel.device); return f != nil && f.Home.Free == free }
	}
	m.until("the first facts", told(7))
	facts := m.Disks(tunnel.device)
	if a, b := facts.Folder("a"), facts.Folder("b"); a.Space.Total != 2 || a.DriveMissing() || !b.DriveMissing() ||
		facts.Folder("c").DriveMissing() || time.Since(facts.At) > time.Hour {
		t.Errorf("got %+v", facts)
	}
	m.until("told", func() bool { m.mu.Lock(); defer m.mu.Unlock(); return m.changes[tunnel.device] > 0 })
	for range 10 {
		ask()
	}
	for n := range int64(20) { // An agent that always has other facts is asked once a minute.
		number.Store(8 + n)
		ask()
	}
	if n := readings.Load(); n != 1 {
		t.Errorf("%d readings in the first minute", n)
	}
	tunnel.disksReader.limit.SetLimit(rate.Inf) // The minute is over.
	ask()
	m.until("the newest facts", told(27))
	tunnel.close()
	m.until("gone", func() bool { return m.Disks(tunnel.device) == nil })
}

func TestAbsurdFactsAboutDisksAreNotKept(t *testing.T) {
	t.Parallel()
	absurd := Disks{Home: Space{Free: math.MaxInt64, Total: math.MaxInt64}}
	for i, space := range []Space{{-1, 10}, {10, 5}, {1, -1}, {1, 0}, {1, math.MaxInt64}} {
		absurd.Folders = append(absurd.Folders, FolderDisk{Folder: fmt.Sprint("f", i), Space: space, Versions: space,
			Path: "on the moon", Marker: fleet.Presence(strings.Repeat("x", 1000))})
	}
	for _, name := range []string{"", "a\u202eb", strings.Repeat("x", 300), "f1"} {
		absurd.Folders = append(absurd.Folders, FolderDisk{Folder: name, Path: "missing"})
	}
	facts := absurd.facts(time.Now())
	if facts.Home != (fleet.DiskSpace{}) || len(facts.Folders) != 5 {
		t.Errorf("got %+v", facts)
	}
	for _, f := range facts.Folders {
		if f.Space.Total != 0 || f.Space.Free != 0 || f.Versions.Total != 0 || f.Path != fleet.PresenceUnknown ||
			f.Marker != fleet.PresenceUnknown || f.NearlyFull() || f.DriveMissing() {
			t.Errorf("got %+v", f)
		}
	}
	for i := range 5000 {
		absurd.Folders = append(absurd.Folders, FolderDisk{Folder: fmt.Sprint("more", i)})
	}
	if facts := absurd.facts(time.Now()); len(facts.Folders) > maxDiskFolders || cap(facts.Folders) > maxDiskFolders {
		t.Errorf("%d folders are kept", len(facts.Folders))
	}
}

func TestAnswersAboutDisksThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]string{"no JSON": "x", "a number too large": `{"home":{"free":1e300,"total":1}}`,
		"too long": `{"folders":[` + strings.Repeat(" ", MaxDisksBytes) + `]}`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := startManager(t, accept)
			var asked atomic.Bool
			tunnel := m.agentOf(ListVersion, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set(DisksHeader, "1")
				if r.URL.Path == DisksPath {
					asked.Store(true)
					_, _ = io.WriteString(w, answer)
				}
			})
			for range 3 {
				if _, _, err := get(t, tunnel, "/rest/system/status"); err != nil {
					t.Fatal(err)
				}
			}
			m.until("it is asked", asked.Load)
			if _, _, err := get(t, tunnel, "/rest/system/status"); err != nil {
				t.Error(err)
			}
			if facts := m.Disks(tunnel.device); facts != nil {
				t.Errorf("got %+v", facts)
			}
		})
	}
}

func TestTheReturnOfADaemonIsToldToTheListeners(t *testing.T) {
	t.Parallel()
	m := startManager(t, accept)
	returned, waits := make(chan struct{}), make(chan struct{}, 10)
	tunnel := m.agentOf(ListVersion, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != DaemonPath {
			w.Header().Set(ErrorHeader, ErrorUnreachable)
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		waits <- struct{}{}
		<-returned
	})
	changes := func() int { m.mu.Lock(); defer m.mu.Unlock(); return m.changes[tunnel.device] }
	m.until("accepted and told", func() bool { return changes() > 0 })
	before := changes()
	for range 5 {
		if _, _, err := get(t, tunnel, "/rest/system/status"); fleet.CodeOf(err) != fleet.CodeUnavailable {
			t.Fatalf("got %v", err)
		}
	}
	<-waits
	if got := changes(); got != before || len(waits) > 0 {
		t.Errorf("%d changes were told, and the agent was asked %d times more", got-before, len(waits))
	}
	close(returned)
	m.until("the return is told", func() bool { return changes() > before })
	for range 50 { // it lies: the daemon does not answer
		_, _, _ = get(t, tunnel, "/rest/system/status")
	}
	m.until("it is asked as often as it may be", func() bool {
		_, _, _ = get(t, tunnel, "/rest/system/status")
		return len(waits) == returnsAtOnce-1 && !tunnel.daemonReturn.awaited.Load()
	})
}

func TestAnAgentOfTheFirstListIsNotAskedAboutItsDaemon(t *testing.T) {
	t.Parallel()
	m := startManager(t, accept)
	var asked atomic.Int64
	tunnel := m.agentOf(1, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == DaemonPath {
			asked.Add(1)
		}
		w.Header().Set(ErrorHeader, ErrorUnreachable)
		w.WriteHeader(http.StatusBadGateway)
	})
	for range 5 {
		_, _, _ = get(t, tunnel, "/rest/system/status")
	}
	m.until("the tunnel has noticed", func() bool { return len(tunnel.daemonReturn.away) == 0 })
	if asked.Load() > 0 {
		t.Error("it was asked")
	}
}
