package bench

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"muster/api"
	"muster/client"
	"muster/internal/adapter/seal"
	"muster/internal/adapter/store"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

const (
	saves        = 30 // of one template, one after the other
	touched      = 10 // daemons that each of them reaches: as many as are admitted without waves
	touchedTag   = "ten"
	sharedFolder = "handbook" // that every simulated daemon has
	atOnce       = 64         // daemons that are worked on at a time, by Muster and by the bare client
)

// BenchmarkSave: a template is saved, and what it asks arrives at the daemons that it is for: at ten of a thousand,
// and at all of them in one go. The yardstick is net/http, which does the same reading and writing and knows
// beforehand what.
func BenchmarkSave(b *testing.B) {
	for b.Loop() {
		f := newSavedFarm(b)
		before := took(func() { f.bareAll(b, 1) })
		home := f.seed(b)
		s := server.Start(b, server.Options{Home: home, Mode: fleet.ModeOn})
		if err := s.Client.PutMode(b.Context(), string(fleet.ModeObserve)); err != nil {
			b.Fatal(err)
		}
		waitOnline(b, s, len(f.daemons))
		awaitIdle(b, s)
		f.waitPendingRead(b)
		all := f.touchAll(b, s)
		f.touchTen(b, s)
		s.Stop()
		after := took(func() { f.bareAll(b, 2) })
		bare := (before + after) / 2 // what else runs on the machine comes and goes
		judge(ratio(all, bare) <= 2.5,
			"all %d touched in one wave: %v; bare GET and two PATCHes of everybody: %v before, %v after: %.2f times (goal: "+
				"at most 2.5)",
			len(f.daemons), all.Round(time.Millisecond), before.Round(time.Millisecond), after.Round(time.Millisecond),
			ratio(all, bare))
	}
}

// savedFarm is the daemons, in the process of the measuring clock.
type savedFarm struct {
	daemons []*stsim.Daemon
	places  []place
}

func newSavedFarm(b *testing.B) *savedFarm {
	b.Helper()
	farm := simulated.Start(b, stsim.Options{Count: min(1000, daemons()), Seed: 2, Folders: farmFolders(), Network: 91,
		Shared: true, Quiet: true,
		Timing: stsim.Timing{Summary: time.Millisecond}})
	f := &savedFarm{daemons: farm.Daemons()}
	for _, d := range f.daemons {
		f.places = append(f.places, place{d.ID(), d.APIKey(), d.Host(), d.Port(), d.FolderIDs()})
	}
	say("%d simulated daemons", len(f.daemons))
	return f
}

// seed is a home in which a template for everybody waits to be written: two sections of each daemon differ from it.
func (f *savedFarm) seed(b *testing.B) string {
	b.Helper()
	home := seedHome(b, f.places)
	key, err := seal.FromHome(home)
	if err != nil {
		b.Fatal(err)
	}
	s, err := store.Open(b.Context(), store.Options{Home: home, Seal: key})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	template := fleet.Template{Label: "everybody", Op: fleet.OpMerge,
		Text: fmt.Sprintf("{options: {maxSendKbps: 4711}, folders: [{id: %q, rescanIntervalS: 4711}]}\n", sharedFolder)}
	edit := fleet.Edit{New: []fleet.TaggedTemplate{{Template: template, Tags: []fleet.Tag{allTag}}}}
	if _, err := s.ApplyEdit(b.Context(), edit, fleet.Basis{}); err != nil {
		b.Fatal(err)
	}
	registry, err := s.Registry(b.Context())
	if err == nil { // else it would be rolled out in waves
		_, err = s.PutRollouts(b.Context(), fleet.RolloutWrite{Settled: registry})
	}
	if err != nil {
		b.Fatal(err)
	}
	return home
}

// waitPendingRead waits until Muster has asked every daemon who wants to be let in, once after its start and between
// two polls: this too follows the first contact.
func (f *savedFarm) waitPendingRead(b *testing.B) {
	b.Helper()
	limit := time.Now().Add(2 * time.Minute)
	for _, d := range f.daemons {
		for d.Counters().ByRoute["GET /rest/cluster/pending/folders"] == 0 {
			if time.Now().After(limit) {
				b.Fatalf("%s was not asked who wants to be let in", d.ID())
			}
			pause(b.Context(), 100*time.Millisecond)
		}
	}
}

// touchAll lets Muster write, and says how long it takes until every daemon was written to.
func (f *savedFarm) touchAll(b *testing.B, s *server.Server) time.Duration {
	b.Helper()
	for _, d := range f.daemons {
		d.ResetCounters()
	}
	var all time.Duration
	profile(b, s, "all", func() {
		all = took(func() {
			if err := s.Client.PutMode(b.Context(), string(fleet.ModeOn)); err != nil {
				b.Fatal(err)
			}
			f.waitWrites(b, f.daemons, func(int) int { return 2 })
		})
	})
	f.waitInSync(b, s, allTag)
	wrong, forbidden, silent := 0, 0, 0
	for _, d := range f.daemons {
		c := d.Counters()
		if c.Writes != 2 || c.ByRoute["PATCH /rest/config/options"] != 1 ||
			c.ByRoute["PATCH /rest/config/folders/"+sharedFolder] != 1 {
			wrong++
		}
		forbidden, silent = forbidden+c.Forbidden, silent+c.Silent
	}
	judge(wrong+forbidden+silent == 0,
		"daemons with other than one write for each of two sections: %d; answers 403: %d; silent connections: %d (goal: 0)",
		wrong, forbidden, silent)
	return all
}

// touchTen saves one template again and again.
func (f *savedFarm) touchTen(b *testing.B, s *server.Server) {
	b.Helper()
	ten := f.daemons[:touched]
	for _, d := range ten {
		if _, err := s.Client.TagDevice(b.Context(), string(d.ID()), touchedTag); err != nil {
			b.Fatal(err)
		}
	}
	key, op := "options.maxRecvKbps", "set"
	id := s.Template(op, key, "1000", touchedTag)
	f.waitInSync(b, s, touchedTag)
	var bare, muster []time.Duration
	for n := range saves {
		bare = append(bare, f.firstBytes(b, ten, func() {
			var group errgroup.Group
			for i := range ten {
				group.Go(func() error { return f.places[i].write(fmt.Sprintf(`{"maxFolderConcurrency": %d}`, n+1)) })
			}
			if err := group.Wait(); err != nil {
				b.Fatal(err)
			}
		})...)
		f.waitInSync(b, s, touchedTag)
		muster = append(muster, f.firstBytes(b, ten, func() {
			text := fmt.Sprint(2000 + n)
			if _, err := s.Client.PutTemplate(b.Context(), id, api.PutTemplate{Op: &op, Key: &key,
				Template: &text}); err != nil {
				b.Fatal(err)
			}
		})...)
		f.waitInSync(b, s, touchedTag)
	}
	p50, p99 := quantile(muster, 0.5), quantile(muster, 0.99)
	bare50, bare99 := quantile(bare, 0.5), quantile(bare, 0.99)
	judge(p50 < 150*time.Millisecond && p99 < time.Second,
		"save to first byte at ten of %d daemons: p50 %v, p99 %v (goal: under 150 ms and 1 s); bare GET and PATCH of the "+
			"ten: p50 %v, p99 %v; ratio of p50 %.1f, of p99 %.1f",
		len(f.daemons), p50, p99, bare50, bare99, ratio(p50, bare50), ratio(p99, bare99))
}

// firstBytes is how long it takes from the beginning of do until each daemon has the first write more than before.
func (f *savedFarm) firstBytes(b *testing.B, of []*stsim.Daemon, do func()) []time.Duration {
	b.Helper()
	before := make([]int, len(of))
	for i, d := range of {
		before[i] = d.Counters().Writes
	}
	at := make(chan []time.Duration, 1)
	go func() { at <- f.waitWrites(b, of, func(i int) int { return before[i] + 1 }) }()
	do()
	return <-at
}

// waitWrites waits until every daemon has had so many writes, and says when each had.
func (f *savedFarm) waitWrites(b testing.TB, of []*stsim.Daemon, want func(i int) int) []time.Duration {
	began, deadline := time.Now(), time.After(2*time.Minute)
	tick := time.NewTicker(500 * time.Microsecond)
	defer tick.Stop()
	at := make([]time.Duration, len(of))
	for left := len(of); left > 0; {
		for i, d := range of {
			if at[i] == 0 && d.Counters().Writes >= want(i) {
				at[i] = time.Since(began)
				left--
			}
		}
		select {
		case <-tick.C:
		case <-deadline:
			b.Errorf("%d of %d daemons were not written to", left, len(of))
			return at
		}
	}
	return at
}

func (f *savedFarm) waitInSync(b *testing.B, s *server.Server, tag string) {
	b.Helper()
	wait.Until(b, func() string {
		states, err := s.Client.States(b.Context(), client.List{Tag: tag})
		if err != nil {
			return err.Error()
		}
		for _, state := range states {
			if state.Configuration != string(fleet.ConfigInSync) {
				return fmt.Sprintf("%s is %s: %s", state.DeviceID, state.Configuration, state.Reason)
			}
		}
		return ""
	})
}

// bareAll reads everybody's configuration and writes two sections, where no template says anything.
func (f *savedFarm) bareAll(b *testing.B, n int) {
	b.Helper()
	var group errgroup.Group
	group.SetLimit(atOnce)
	for _, p := range f.places {
		group.Go(func() error {
			return p.write(fmt.Sprintf(`{"maxFolderConcurrency": %d}`, 100+n), fmt.Sprintf(`{"maxConflicts": %d}`, 100+n))
		})
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
}

// write reads the configuration and writes options and, when there is a second body, the shared folder: over one new
// connection, as Muster does.
func (p place) write(options string, folder ...string) error {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	defer transport.CloseIdleConnections()
	c := &http.Client{Transport: transport}
	calls := [][3]string{{http.MethodGet, "/rest/config", ""}, {http.MethodPatch, "/rest/config/options", options}}
	for _, body := range folder {
		calls = append(calls, [3]string{http.MethodPatch, "/rest/config/folders/" + sharedFolder, body})
	}
	for _, call := range calls {
		r, err := http.NewRequest(call[0], fmt.Sprintf("https://%s:%d%s", p.Host, p.Port, call[1]),
			bytes.NewReader([]byte(call[2])))
		if err != nil {
			return err
		}
		r.Header.Set("X-API-Key", p.Key)
		response, err := c.Do(r)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		if err != nil || response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s %s: %s, %w", call[0], call[1], response.Status, err)
		}
	}
	return nil
}
