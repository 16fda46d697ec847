package mirror

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"muster/internal/adapter/syncthing"
	"muster/internal/core/stconfig"
	"muster/internal/engine/mirror"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/daemon"
	"muster/test/simulated"
)

// patient is a daemon that a test can edit and restart.
type patient struct {
	fleet.Registered
	edit, restart func()
}

func startSimulated(version stsim.Version, network int) func(t *testing.T) patient {
	return func(t *testing.T) patient {
		farm := simulated.Start(
			t,
			stsim.Options{Versions: []stsim.Version{version}, Folders: -1, Quiet: true, Network: network},
		)
		d, speed := farm.Daemon(0), 0
		check := func(err error) {
			if err != nil {
				t.Error(err)
			}
		}
		return patient{
			fleet.Registered{Device: fleet.Device{ID: d.ID(), APIKey: fleet.NewSecret(d.APIKey()), APIAddress: d.Host(),
				APIPort: d.Port()}},
			func() {
				speed++
				check(d.Edit(func(doc stconfig.Value) stconfig.Value {
					return doc.With("options", doc.Get("options").With("maxSendKbps", stconfig.Literal(strconv.Itoa(speed))))
				}))
			},
			func() { check(simulated.Restart(d)) },
		}
	}
}

func real1(t *testing.T) patient {
	d, speed := daemon.Start(t, daemon.Options{}), 0
	return patient{registered(d), func() {
		speed++
		d.Patch("/rest/config/options", map[string]int{"maxSendKbps": speed})
	}, func() {
		d.Stop()
		d.Restart()
	}}
}

// restarting is a client whose daemon restarts right before it is asked for the configuration, once that is due. It
// counts the polls that the daemon of after that answered before it told its status.
type restarting struct {
	*syncthing.Client
	restart func()

	mu     sync.Mutex
	due    bool
	after  bool // the restart
	polls  int
	status chan struct{} // closed when the status was read after the restart
}

func (*restarting) Open(context.Context) (mirror.Channel, error) {
	panic("the daemon is not to be changed")
}

func (r *restarting) Config(ctx context.Context) ([]byte, error) {
	r.mu.Lock()
	due := r.due
	if due {
		r.due, r.after = false, true
	}
	r.mu.Unlock()
	if due {
		r.restart()
	}
	return r.Client.Config(ctx)
}

func (r *restarting) Events(ctx context.Context, since int64, limit int, wait time.Duration,
) ([]fleet.DaemonEvent, error) {
	events, err := r.Client.Events(ctx, since, limit, wait)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.after && err == nil {
		r.polls++
	}
	return events, err
}

func (r *restarting) Status(ctx context.Context) (fleet.Status, error) {
	status, err := r.Client.Status(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.after {
		r.after = false
		close(r.status)
	}
	return status, err
}

// A read after the restart goes over another connection without a word. The numbers of the events begin again, and a
// poll from the old number on waits for nothing: no change at the daemon was seen until the status was due.
func TestARestartBetweenTwoPollsIsNoticedAtOnce(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T) patient{
		"simulated v1": startSimulated(stsim.V1, 201), "simulated v2": startSimulated(stsim.V2, 202), "real": real1,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t)
			r := &restarting{restart: p.restart, status: make(chan struct{})}
			w := startWith(t, func(target mirror.Target) mirror.Daemon {
				r.Client = syncthing.New(target, syncthing.Options{})
				return r
			})
			w.Put(p.Registered, false)
			digest := w.until(p.ID, "the daemon online", is(fleet.Online)).Digest
			edited := func() {
				t.Helper()
				p.edit()
				digest = w.until(p.ID, "the edit", func(s mirror.Snapshot) bool { return s.Digest != digest }).Digest
			}
			for range 3 { // the numbers are larger than those after the restart
				edited()
			}
			r.mu.Lock()
			r.due = true
			r.mu.Unlock()
			p.edit()
			<-r.status
			if r.polls != 0 {
				t.Errorf("%d polls were answered by the daemon of after the restart before its status was read", r.polls)
			}
			w.until(p.ID, "the daemon online", is(fleet.Online))
			edited()
		})
	}
}
