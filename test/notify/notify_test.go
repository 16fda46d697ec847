// Package notify_test checks that messages about problems arrive although the receiver is down and Muster is killed.
//
//muster:needs daemons
package notify_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"muster/api"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

func TestMain(m *testing.M) {
	server.Main()
	m.Run()
}

// outbox reads the IDs of what waits, in order, from the database of a server that runs.
func outbox(t *testing.T, home string) []string {
	t.Helper()
	db, err := sql.Open("sqlite",
		"file:"+filepath.Join(home, "muster.db")+"?_pragma=busy_timeout(5000)&_pragma=query_only(1)")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(t.Context(), `SELECT json_extract(body, '$.id') FROM outbox ORDER BY sequence`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return ids
}

// fleetOf starts simulated daemons with a folder each.
func fleetOf(t *testing.T, count int) []*stsim.Daemon {
	t.Helper()
	farm := simulated.Start(t, stsim.Options{Count: count, Group: 1, Quiet: true, Network: 91,
		Timing: stsim.Timing{Summary: 100 * time.Millisecond}})
	return farm.Daemons()
}

func folderOf(d *stsim.Daemon) string {
	for folder := range d.Config().Get("folders").Values() {
		return folder.Get("id").Str()
	}
	return ""
}

// stop has the daemon stop its folder.
func stop(t *testing.T, d *stsim.Daemon) {
	t.Helper()
	if err := d.StopFolder(folderOf(d), stsim.PathMissing); err != nil {
		t.Fatal(err)
	}
}

// heal mends the folder of a daemon.
func heal(t *testing.T, d *stsim.Daemon) {
	t.Helper()
	if err := d.HealFolder(folderOf(d)); err != nil {
		t.Fatal(err)
	}
}

func register(t *testing.T, s *server.Server, d *stsim.Daemon, label string, tags ...string) {
	t.Helper()
	key, address, port := d.APIKey(), d.Host(), int64(d.Port())
	if _, _, err := s.Client.PutDevice(t.Context(), string(d.ID()),
		api.PutDevice{APIKey: &key, APIAddress: &address, APIPort: &port, Label: &label}); err != nil {
		t.Fatal(err)
	}
	for _, tag := range tags {
		if _, err := s.Client.TagDevice(t.Context(), string(d.ID()), tag); err != nil {
			t.Fatal(err)
		}
	}
	s.WaitConnection(d.ID(), fleet.Online)
}

func start(t *testing.T, d *stsim.Daemon) {
	t.Helper()
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
}

func TestEveryMessageArrivesThoughTheReceiverIsDownAndMusterIsKilled(t *testing.T) {
	t.Parallel()
	daemons, receiver := fleetOf(t, 4), newReceiver(t)
	options := server.Options{NotifyURLs: []string{receiver.url()}, NotifySecret: secret, NotifyAfter: 2 * time.Second,
		TroubleAfter: time.Second}
	first := server.Start(t, options)
	options.Home = first.Home
	for i, tags := range [][]string{nil, nil, nil, {"held"}} {
		register(t, first, daemons[i], fmt.Sprint("d", i), tags...)
	}
	folder := folderOf(daemons[2])
	waiting := func(want int) []string {
		t.Helper()
		var ids []string
		wait.Until(t, func() string {
			if ids = outbox(t, options.Home); len(ids) != want {
				return fmt.Sprintf("%d messages wait, want %d", len(ids), want)
			}
			return ""
		})
		return ids
	}
	arrived := func(what string) {
		t.Helper()
		wait.Until(t, func() string {
			if !receiver.has(what) {
				return fmt.Sprintf("%q has not arrived, but %v", what, receiver.messages())
			}
			return ""
		})
	}

	daemons[0].Stop()
	arrived("problem unreachable d0 ")
	waiting(0)

	receiver.down()
	start(t, daemons[0]) // over
	daemons[1].Stop()
	stop(t, daemons[2])
	template := first.Template("set", "gui.user", `"root"`, "held")
	waiting(4)
	start(t, daemons[1]) // over
	heal(t, daemons[2])
	kept := waiting(6)

	first.Kill()
	if got := outbox(t, options.Home); !slices.Equal(got, kept) {
		t.Fatalf("after the kill %v wait, before it were %v", got, kept)
	}
	second := server.Start(t, options)
	for _, d := range daemons {
		second.WaitConnection(d.ID(), fleet.Online)
	}
	receiver.up(func(message) bool { // takes one, and Muster does not hear of it
		second.Kill()
		return false
	})
	second.WaitEnd()
	receiver.down()

	third := server.Start(t, options)
	receiver.up(nil)
	waiting(0)
	if err := third.Client.DeleteTemplate(t.Context(), template); err != nil {
		t.Fatal(err)
	}
	arrived("resolved held d3 ")

	receiver.check(t.Context())
	all, duplicates := receiver.distinct()
	if duplicates == 0 {
		t.Error("no message came twice: the kill between taking and hearing of it was not met")
	}
	for _, id := range kept {
		if !slices.ContainsFunc(all, func(m message) bool { return m.ID == id }) {
			t.Errorf("message %s never arrived", id)
		}
	}
	checkStories(t, all, map[string][]string{
		"d0": {"problem unreachable d0 ", "resolved unreachable d0 "},
		"d1": {"problem unreachable d1 ", "resolved unreachable d1 "},
		"d2": {"problem folderStopped d2 " + folder, "resolved folderStopped d2 " + folder},
		"d3": {"problem held d3 ", "resolved held d3 "},
	})
}

// checkStories compares what arrived about each device, in order, and that every end names its beginning.
func checkStories(t *testing.T, all []message, want map[string][]string) {
	t.Helper()
	got, opened := map[string][]string{}, map[string]string{}
	for _, m := range all {
		got[m.Label] = append(got[m.Label], m.String())
		problem := strings.TrimPrefix(strings.TrimPrefix(m.String(), "problem"), "resolved")
		switch m.Type {
		case "problem":
			opened[problem] = m.ID
			if m.ProblemID != m.ID || m.Reason == "" || m.Next == "" || m.Since.IsZero() || m.At.Before(m.Since) {
				t.Errorf("got %+v", m)
			}
		case "resolved":
			if m.ProblemID != opened[problem] || m.ProblemID == m.ID {
				t.Errorf("got %+v, the problem is %q", m, opened[problem])
			}
		}
	}
	for device, story := range want {
		if !slices.Equal(got[device], story) {
			t.Errorf("%s: got %q, want %q", device, got[device], story)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
}

// A device that is deleted while its messages wait: they arrive all the same, and the problem is over.
func TestTheMessagesOfADeletedDeviceArrive(t *testing.T) {
	t.Parallel()
	daemons, receiver := fleetOf(t, 1), newReceiver(t)
	receiver.down()
	s := server.Start(t, server.Options{NotifyURLs: []string{receiver.url()}, NotifySecret: secret,
		NotifyAfter: time.Second, TroubleAfter: time.Second})
	register(t, s, daemons[0], "gone")
	daemons[0].Stop()
	wait.Until(t, func() string {
		if len(outbox(t, s.Home)) == 1 {
			return ""
		}
		return "the problem is not announced"
	})
	if err := s.Client.DeleteDevice(t.Context(), string(daemons[0].ID())); err != nil {
		t.Fatal(err)
	}
	receiver.up(nil)
	wait.Until(t, func() string {
		if receiver.has("resolved unreachable gone ") {
			return ""
		}
		return fmt.Sprintf("not over: %v", receiver.messages())
	})
	receiver.check(t.Context())
	all, _ := receiver.distinct()
	checkStories(t, all, map[string][]string{"gone": {"problem unreachable gone ", "resolved unreachable gone "}})
}
