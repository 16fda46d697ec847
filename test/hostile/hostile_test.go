package hostile

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

// mostGrowth is how much memory a server may take on top, at the worst moment, because of a corpus that offers it
// hundreds of gigabytes again and again. In KiB. A configuration may have 16 MiB, and Muster reads two big answers at
// a time.
const mostGrowth = 96 << 10

// TestHostileDaemons: one daemon for every answer of the corpus, and healthy ones between them, which must not notice.
func TestHostileDaemons(t *testing.T) {
	corpus := append(append([]answer{}, everywhere...), inPlaces...)
	const healthy = 3
	farm := newFarm(t, healthy+len(corpus))
	s := server.Start(t, server.Options{})
	for _, d := range farm.Daemons()[:healthy] {
		s.Register(d.ID(), d.APIKey(), d.Host(), d.Port(), "healthy")
		s.WaitConnection(d.ID(), fleet.Online)
	}
	before, _ := memory(t, s.PID())
	for i, d := range farm.Daemons()[healthy:] {
		d.SetFaults(corpus[i].faults)
		s.Register(d.ID(), d.APIKey(), d.Host(), d.Port(), "hostile")
	}
	others := bother(t, s, farm.Daemons()[:healthy])
	for i, a := range corpus {
		t.Run(a.name, func(t *testing.T) { a.check(t, s, farm.Daemon(healthy+i)) })
	}
	others()
	now, most := memory(t, s.PID())
	t.Logf("resident memory: %d MiB before, at most %d MiB, %d MiB after", before>>10, most>>10, now>>10)
	if most-before > mostGrowth {
		t.Errorf("the server grew by %d MiB", (most-before)>>10)
	}
	s.Stop()
}

func newFarm(t *testing.T, count int) *stsim.Farm {
	t.Helper()
	farm := simulated.Start(t, stsim.Options{Count: count, Folders: 2, Group: 1, Quiet: true, Network: 71})
	return farm
}

func (a answer) check(t *testing.T, s *server.Server, d *stsim.Daemon) {
	for range 3 { // there must be events to lie about
		d.Emit("StateChanged", stconfig.Obj(stconfig.Member{Name: "folder", Value: stconfig.Text("handbook")}))
	}
	var state api.DeviceState
	wait.Until(t, func() string {
		var err error
		if state, err = s.Client.DeviceState(t.Context(), string(d.ID())); err != nil {
			return err.Error()
		}
		if a.connection == "" && state.Connection == string(fleet.Online) ||
			a.connection == fleet.Connection(state.Connection) && strings.Contains(state.Reason, a.reason) {
			return ""
		}
		return fmt.Sprintf("want %s because of %q, got %s: %s", a.connection, a.reason, state.Connection, state.Reason)
	})
	if state.Connection != string(fleet.Online) && (state.Reason == "" || state.Next == "") {
		t.Errorf("no reason or no next step: %+v", state)
	}
	if strings.ContainsAny(state.Reason, "<>\u202e") {
		t.Errorf("the daemon's own words are passed on as they are: %s", state.Reason)
	}
	if a.name == summaryOf10GB || a.name == summaryBelowZero {
		waitUnknownFolders(t, s, d)
		checkStaysOnline(t, s, d)
	}
	if wrote := d.Counters().Writes; wrote > 0 {
		t.Errorf("%d writes to a daemon that is not believed", wrote)
	}
}

// waitUnknownFolders waits until the daemon's folders are shown, as unknown.
func waitUnknownFolders(t *testing.T, s *server.Server, d *stsim.Daemon) {
	t.Helper()
	wait.Until(t, func() string {
		folders, err := s.Client.DeviceFolders(t.Context(), string(d.ID()))
		if err != nil {
			return err.Error()
		}
		for _, f := range folders {
			if f.State != fleet.FolderUnknown.String() {
				return fmt.Sprintf("folder %s is %s: %s", f.Folder, f.State, f.Reason)
			}
		}
		if len(folders) == 0 {
			return "no folder is shown"
		}
		return ""
	})
}

// checkStaysOnline checks that the events of a daemon are followed although its folders cannot be read. Each event
// makes Muster poll again, and a poll over a new connection reads the status first.
func checkStaysOnline(t *testing.T, s *server.Server, d *stsim.Daemon) {
	t.Helper()
	for range 10 {
		polls := d.Counters().ByRoute["GET /rest/events"]
		d.Emit("StateChanged", stconfig.Obj(stconfig.Member{Name: "folder", Value: stconfig.Text("handbook")}))
		wait.Until(t, func() string {
			if d.Counters().ByRoute["GET /rest/events"] == polls {
				return "Muster did not poll after an event"
			}
			return ""
		})
		state, err := s.Client.DeviceState(t.Context(), string(d.ID()))
		if err != nil {
			t.Fatal(err)
		}
		if state.Connection != string(fleet.Online) {
			t.Fatalf("the daemon is %s: %s", state.Connection, state.Reason)
		}
	}
}

// bother uses healthy daemons meanwhile, and gives what ends that: a template changes what they have, and what they
// say is mirrored, each time within a minute.
func bother(t *testing.T, s *server.Server, daemons []*stsim.Daemon) (stop func()) {
	t.Helper()
	template := s.Template("set", "options.maxSendKbps", "1000", "healthy")
	end, ended := make(chan struct{}), make(chan error, 1)
	rounds, slowest := 0, time.Duration(0)
	go func() {
		for {
			began := time.Now()
			if err := round(t, s, daemons, template, rounds); err != nil {
				ended <- err
				return
			}
			slowest = max(slowest, time.Since(began))
			rounds++
			select {
			case <-end:
				ended <- nil
				return
			default:
			}
		}
	}()
	return func() {
		t.Helper()
		close(end)
		if err := <-ended; err != nil {
			t.Fatalf("a healthy daemon suffers: %v", err)
		}
		t.Logf("healthy daemons were configured and mirrored %d times meanwhile, the slowest in %v", rounds,
			slowest.Round(time.Millisecond))
	}
}

// round brings a new value to every healthy daemon and hears of a new number from each.
func round(t *testing.T, s *server.Server, daemons []*stsim.Daemon, template int64, n int) error {
	ctx := t.Context()
	op, key, text := "set", "options.maxSendKbps", fmt.Sprint(2000+n)
	if _, err := s.Client.PutTemplate(ctx, template, api.PutTemplate{Op: &op, Key: &key, Template: &text}); err != nil {
		return err
	}
	sequence := int64(1_000_000 + n)
	for _, d := range daemons {
		if err := d.SetSummary("handbook", func(f *fleet.FolderSummary) { f.Sequence = sequence }); err != nil {
			return err
		}
	}
	deadline := time.Now().Add(time.Minute)
	for _, d := range daemons {
		for d.Config().Get("options").Get("maxSendKbps").JSON() == nil ||
			string(d.Config().Get("options").Get("maxSendKbps").JSON()) != text {
			if time.Now().After(deadline) {
				return fmt.Errorf("%s was not configured within a minute", d.Name())
			}
			<-time.After(20 * time.Millisecond)
		}
	}
	for {
		summaries, err := s.Client.FolderSummaries(ctx, "handbook")
		if err != nil {
			return err
		}
		mirrored := 0
		for _, summary := range summaries {
			if summary.Sequence == sequence {
				mirrored++
			}
		}
		if mirrored == len(daemons) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of %d daemons were mirrored within a minute", mirrored, len(daemons))
		}
		<-time.After(20 * time.Millisecond)
	}
}

// TestFloodsCostOnlySoMuch: a daemon whose every poll finds a thousand events is not asked as often as it could
// answer.
func TestFloodsCostOnlySoMuch(t *testing.T) {
	farm := newFarm(t, 1)
	d := farm.Daemon(0)
	s := server.Start(t, server.Options{})
	s.Register(d.ID(), d.APIKey(), d.Host(), d.Port())
	s.WaitConnection(d.ID(), fleet.Online)
	d.SetFaults(on("/rest/events", stsim.Faults{Flood: 1000}))
	// ends the poll that hangs
	d.Emit("StateChanged", stconfig.Obj(stconfig.Member{Name: "folder", Value: stconfig.Text("handbook")}))
	asked := func() int { return d.Counters().ByRoute["GET /rest/events"] }
	wait.Until(t, func() string {
		if asked() < 4 {
			return fmt.Sprintf("polled %d times", asked())
		}
		return ""
	})
	from, began := asked(), time.Now()
	<-time.After(5 * time.Second)
	if polls, took := asked()-from, time.Since(began); float64(polls) > 2+took.Seconds() {
		t.Errorf("%d polls in %v", polls, took)
	}
	if _, err := s.Client.Devices(t.Context(), client.List{}); err != nil {
		t.Error(err)
	}
}
