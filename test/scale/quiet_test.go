package scale_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/adapter/syncthing"
	"muster/internal/engine/mirror"
	"muster/internal/fleet"
	"muster/internal/stsim"
)

// discard keeps nothing of what watchers observe, and counts it.
type discard struct {
	mu       sync.Mutex // guards statuses
	statuses map[fleet.DeviceID]int
}

// unchanged follows a daemon and changes nothing there.
type unchanged struct{ *syncthing.Client }

func (unchanged) Open(context.Context) (mirror.Channel, error) {
	panic("the daemon is not to be changed")
}

func (d *discard) SaveObservations(_ context.Context, observations []fleet.Observation) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range observations {
		if o.Status != nil {
			d.statuses[o.Device]++
		}
	}
	return nil
}

// An hour in which nothing happens, on a simulated clock, the first contact included: daemons close idle connections
// after 15 s, and each new one costs a handshake, so the one that is kept must never be idle.
func TestAQuietHourNeedsOneConnectionPerDaemon(t *testing.T) {
	count := 50
	if soaking() {
		count = 1000
	}
	synctest.Test(t, func(t *testing.T) {
		farm, err := stsim.New(stsim.Options{Count: count, Folders: 2, Memory: true, Port: 8384, Quiet: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := farm.Start(); err != nil {
			t.Fatal(err)
		}
		defer farm.Close()
		sink := &discard{statuses: map[fleet.DeviceID]int{}}
		m := mirror.New(mirror.Options{Sink: sink, Dial: func(target mirror.Target) mirror.Daemon {
			return unchanged{syncthing.New(target, syncthing.Options{Dial: farm.Dial})}
		}})
		for _, d := range farm.Daemons() {
			m.Put(fleet.Registered{Device: fleet.Device{
				ID: d.ID(), APIKey: fleet.NewSecret(d.APIKey()), APIAddress: d.Host(), APIPort: d.Port(),
			}}, false)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- m.Run(ctx) }()
		<-time.After(time.Hour)
		synctest.Wait()

		for _, d := range farm.Daemons() {
			if s := m.Snapshot(d.ID()); s.Connection != fleet.Online {
				t.Fatalf("%s is %s: %s", d.Name(), s.Connection, s.Reason)
			}
			c := d.Counters()
			if c.Accepted > 2 || c.Open != 1 {
				t.Errorf("%s (%s) accepted %d connections in an hour, %d are open; want at most 2 and 1", d.Name(), d.Version(),
					c.Accepted, c.Open)
			}
			if c.Silent > 0 {
				t.Errorf("%s: %d connections said nothing and held up the daemon", d.Name(), c.Silent)
			}
			if got := sink.statuses[d.ID()]; got < 55 {
				t.Errorf("%s: the status was refreshed %d times in an hour, want about once a minute", d.Name(), got)
			}
			if c.Requests > 250 {
				t.Errorf("%s was asked %d times in an hour in which nothing happened", d.Name(), c.Requests)
			}
		}
		t.Logf("%d daemons, the first: %+v", count, farm.Daemon(0).Counters())
		cancel()
		<-ended
	})
}
