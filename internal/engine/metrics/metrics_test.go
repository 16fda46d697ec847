package metrics

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"muster/internal/fleet"
)

func read(t *testing.T, m *Metrics) string {
	t.Helper()
	rec := httptest.NewRecorder()
	m.Handler().ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if rec.Code != http.StatusOK {
		t.Fatalf("got %d %s", rec.Code, rec.Body)
	}
	return rec.Body.String()
}

func TestMetricsCountTheFleetAndNeverADevice(t *testing.T) {
	fleetNow := fleet.Counts{}
	m, err := New(Options{
		Registry: prometheus.NewRegistry(), Version: "1.2.3", Counts: func() fleet.Counts { return fleetNow },
		Rollouts: func() map[fleet.RolloutStatus]int { return map[fleet.RolloutStatus]int{fleet.RolloutHalted: 1} },
		Queues:   map[string]func() int{"plans": func() int { return 7 }, "observations": func() int { return 3 }},
	})
	if err != nil {
		t.Fatal(err)
	}
	m.Asked("config", 30*time.Millisecond, nil)
	m.Asked("write", time.Second, &fleet.Error{Code: fleet.CodeRejected})
	m.Served("getDevice", http.StatusOK, time.Millisecond)
	m.Served("getDevice", http.StatusNotFound, time.Millisecond)
	lines := strings.Count(read(t, m), "\n")
	fleetNow = fleet.Counts{Devices: 1000, Connections: map[fleet.Connection]int{fleet.Online: 1000},
		Configurations: map[fleet.Configuration]int{fleet.ConfigInSync: 1000},
		Folders:        fleet.FolderCounts{fleet.FolderUnknown: 1000}}
	text := read(t, m)
	if got := strings.Count(text, "\n"); got != lines {
		t.Errorf("a thousand devices made %d lines of %d", got, lines)
	}
	for _, want := range []string{
		`muster_build_info{version="1.2.3"} 1`, `muster_devices{connection="online"} 1000`,
		`muster_devices{connection="pinMismatch"} 0`,
		`muster_configurations{configuration="inSync"} 1000`, `muster_folders{state="unknown"} 1000`,
		`muster_devices_by_folders{state="stopped"} 0`, `muster_devices_waiting{cause="disagree"} 0`,
		`muster_rollouts{status="halted"} 1`, `muster_queue_depth{queue="plans"} 7`,
		`muster_queue_depth{queue="observations"} 3`,
		`muster_daemon_request_seconds_count{call="config",outcome="ok"} 1`,
		`muster_daemon_request_seconds_count{call="write",outcome="rejected"} 1`,
		`muster_api_request_seconds_count{operation="getDevice",outcome="refused"} 1`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
}

// A folder's ID is up to its daemon.
func TestMetricsOfCopiesAreBoundedInTheirLabels(t *testing.T) {
	m, err := New(Options{Registry: prometheus.NewRegistry(), Copies: func() []FolderCopies {
		return []FolderCopies{{Folder: "docs", Copies: 3}, {Folder: "music", Copies: 1, Unproven: time.Minute},
			{Folder: strings.Repeat("x", 64<<10)}, {Folder: "\xff"}}
	}})
	if err != nil {
		t.Fatal(err)
	}
	text := read(t, m)
	for _, want := range []string{`muster_folder_copies{folder="docs"} 3`,
		`muster_folder_unproven_seconds{folder="docs"} 0`, `muster_folder_unproven_seconds{folder="music"} 60`} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
	if strings.Contains(text, "xxx") {
		t.Error("a label of 64 KiB is offered")
	}
}

func TestMetricsOfTwoServersNeedTwoRegistries(t *testing.T) {
	registry := prometheus.NewRegistry()
	if _, err := New(Options{Registry: registry}); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{Registry: registry}); err == nil {
		t.Error("the same numbers twice in one registry")
	}
}
