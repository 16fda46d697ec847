// Package rollout_test runs rollouts on a whole server with simulated daemons: rollouts whose template is fixed, that
// are paused or undone, and that a killed server continues.
//
// Most of the processor time is used by servers in processes of their own, which do much the same in most tests. The
// generated orders, which do everything in any order, and most kinds of the other tests run with the race detector.
//
//muster:needs daemons
//muster:test -run=Order|Steer|EqualCh|ToHalt|ToFail|MakesWait|Watch|Author|Restored|Vanish|Approves
//muster:test -race=false -skip=Order|Steer|EqualCh|ToHalt|ToFail|MakesWait|Watch|Author|Restored|Vanish|Approves
//muster:soak
package rollout_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

func TestMain(m *testing.M) {
	server.Main()
	os.Exit(m.Run())
}

const (
	network = 95
	soak    = time.Second // events of a change are seen within half of it
)

// The templates of these tests. Each is for the tag "all".
const (
	good   = `{"label": "new", "path": "~/new"}`
	broken = `{"label": "new", "path": "/broken/new"}`
)

// world is a Muster and its simulated daemons, which outlive it.
type world struct {
	*server.Server
	t    *testing.T
	farm *stsim.Farm
	o    server.Options
}

// newWorld registers daemons that carry the tag "all", and waits until they are online. Some may be stopped before.
func newWorld(t *testing.T, count int, o server.Options, stopped ...int) *world {
	t.Helper()
	farm := simulated.Start(t, stsim.Options{Count: count, Seed: 7, Network: network, Quiet: true,
		Timing: stsim.Timing{Scan: 20 * time.Millisecond}})
	if o.Soak == 0 {
		o.Soak = soak
	}
	w := &world{t: t, farm: farm, o: o, Server: server.Start(t, o)}
	w.o.Home = w.Home
	w.register()
	for i, d := range farm.Daemons() {
		w.WaitConnection(d.ID(), fleet.Online)
		if slices.Contains(stopped, i) {
			d.Stop()
			w.WaitConnection(d.ID(), fleet.Unreachable)
		}
	}
	w.reset()
	return w
}

func (w *world) register() {
	w.t.Helper()
	var group errgroup.Group
	group.SetLimit(8)
	for _, d := range w.farm.Daemons() {
		group.Go(func() error { return w.registerOne(d) })
	}
	if err := group.Wait(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) registerOne(d *stsim.Daemon) error {
	key, address, port, label := d.APIKey(), d.Host(), int64(d.Port()), d.Name()
	body := api.PutDevice{APIKey: &key, APIAddress: &address, APIPort: &port, Label: &label}
	if _, _, err := w.Client.PutDevice(w.t.Context(), string(d.ID()), body); err != nil {
		return err
	}
	_, err := w.Client.TagDevice(w.t.Context(), string(d.ID()), "all")
	return err
}

// restart starts another server where one was killed.
func (w *world) restart() {
	w.t.Helper()
	w.Kill()
	w.o.KillAt = ""
	w.Server = server.Start(w.t, w.o)
}

func (w *world) reset() {
	for _, d := range w.farm.Daemons() {
		d.ResetCounters()
	}
}

// template makes one for everybody; the rollout begins with its tag.
func (w *world) template(key, text string) int64 {
	w.t.Helper()
	return w.Template("merge", key, text, "all")
}

func (w *world) edit(id int64, key, text string) {
	w.t.Helper()
	label, op := "edited", "merge"
	if _, err := w.Client.PutTemplate(w.t.Context(), id, api.PutTemplate{Label: &label, Op: &op, Key: &key,
		Template: &text}); err != nil {
		w.t.Fatal(err)
	}
}

// newest is the newest rollout with its members; ID 0 without one.
func (w *world) newest() api.RolloutDetail {
	w.t.Helper()
	all, err := w.Client.Rollouts(w.t.Context(), client.List{})
	if err != nil {
		w.t.Fatal(err)
	}
	if len(all) == 0 {
		return api.RolloutDetail{}
	}
	return w.rollout(all[0].ID)
}

func (w *world) rollout(id int64) api.RolloutDetail {
	w.t.Helper()
	r, err := w.Client.Rollout(w.t.Context(), id)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

// comesTo waits until the newest rollout has a status.
func (w *world) comesTo(want fleet.RolloutStatus) api.RolloutDetail {
	w.t.Helper()
	var r api.RolloutDetail
	wait.Until(w.t, func() string {
		if r = w.newest(); r.Status == string(want) {
			return ""
		}
		return fmt.Sprintf("want a rollout that is %s, got %+v", want, r.Rollout)
	})
	return r
}

// isUndone fails unless a rollout is undone at once, and waits until the one that brings its devices back has
// succeeded.
func (w *world) isUndone(id int64) {
	w.t.Helper()
	if r := w.rollout(id); r.Status != string(fleet.RolloutUndone) || r.UndoneBy == 0 {
		w.t.Fatalf("got %+v, want it undone", r.Rollout)
	}
	if r := w.comesTo(fleet.RolloutSucceeded); r.Undoes != id {
		w.t.Fatalf("got %+v, want the one that takes rollout %d back", r.Rollout, id)
	}
}

// consents waits until a change of a key waits for an answer, and gives it for all members of the newest rollout.
func (w *world) consents(key string) {
	w.t.Helper()
	wait.Until(w.t, func() string {
		waiting, err := w.Client.Consents(w.t.Context())
		if err != nil {
			return err.Error()
		}
		for _, g := range waiting {
			if g.Key != key {
				continue
			}
			if _, err := w.Client.AnswerConsents(w.t.Context(), answerTo(g, fleet.AnswerConsent, true)); err != nil {
				return err.Error()
			}
			return ""
		}
		return fmt.Sprintf("nothing waits at %s: %+v", key, waiting)
	})
}

// reaches waits until the newest rollout has admitted a wave.
func (w *world) reaches(wave int) api.RolloutDetail {
	w.t.Helper()
	var r api.RolloutDetail
	wait.Until(w.t, func() string {
		if r = w.newest(); r.Wave >= wave {
			return ""
		}
		return fmt.Sprintf("want wave %d, got %+v", wave, r.Rollout)
	})
	return r
}

func (w *world) steer(do func(id int64) (api.RolloutDetail, error), id int64) {
	w.t.Helper()
	if _, err := do(id); err != nil {
		w.t.Fatal(err)
	}
}

// undo takes a rollout back, and consents to everything that its plan shows and that an undo may answer.
func (w *world) undo(id int64) (api.RolloutDetail, error) {
	w.t.Helper()
	planned, err := w.Client.PlanUndo(w.t.Context(), id)
	if err != nil {
		return api.RolloutDetail{}, err
	}
	undone, err := w.Client.UndoRollout(w.t.Context(), id, &planned)
	return undone.RolloutDetail, err
}

// inSync waits until a device has what its templates ask for.
func (w *world) inSync(daemons ...*stsim.Daemon) {
	w.t.Helper()
	for _, d := range daemons {
		w.WaitState(d.ID(), "in sync", func(s api.DeviceState) bool {
			return s.Connection == string(fleet.Online) &&
				(s.Configuration == string(fleet.ConfigInSync) || s.Configuration == string(fleet.ConfigUnmanaged))
		})
	}
}

// written are the daemons that something was written to.
func (w *world) written() (written []*stsim.Daemon) {
	for _, d := range w.farm.Daemons() {
		if d.Counters().Writes > 0 {
			written = append(written, d)
		}
	}
	return written
}

// folderPath is where a daemon has the folder of these tests, "" where it has none.
func folderPath(d *stsim.Daemon) string {
	for folder := range d.Config().Get("folders").Values() {
		if folder.Get("id").Str() == "new" {
			return folder.Get("path").Str()
		}
	}
	return ""
}

func option(d *stsim.Daemon, name string) string { return d.Config().Get("options").Get(name).Str() }

// everyOne fails unless every daemon, or every one of those, satisfies want.
func everyOne(t *testing.T, daemons []*stsim.Daemon, what string, want func(*stsim.Daemon) bool) {
	t.Helper()
	for _, d := range daemons {
		if !want(d) {
			t.Errorf("%s: not %s: options %s, folder at %q", d.Name(), what,
				d.Config().Get("options").Get("maxFolderConcurrency").Str(), folderPath(d))
		}
	}
}
