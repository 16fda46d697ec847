package scale_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
	"muster/test/server"
)

const (
	crashWriters = 8
	mostAcks     = 60 // acknowledged writes between a start and its kill, at most
)

// writer writes one device's label and templates of its own, one write after the other, and remembers what the server
// acknowledged.
type writer struct {
	device    fleet.DeviceID
	label     string // acknowledged
	attempted string // sent last; it may or may not have arrived when the server was killed
	templates map[int64]string
	deleted   map[int64]bool
	n         int
}

// The server is killed with SIGKILL after a random number of acknowledged writes, 60 times on one database
// (2,000 times in `make soak`). Whatever it acknowledged is there afterwards.
func TestNothingAcknowledgedIsLostWhenTheServerIsKilled(t *testing.T) {
	t.Parallel()
	rounds := 60
	if soaking() {
		rounds = 2000
	}
	home := t.TempDir()
	writers := make([]*writer, crashWriters)
	for i := range writers {
		writers[i] = &writer{device: fleet.DeviceIDOf(sha256.Sum256([]byte{byte(i)})), templates: map[int64]string{},
			deleted: map[int64]bool{}}
	}
	acknowledged := 0
	for range rounds {
		s := server.Start(t, server.Options{Home: home, Mode: fleet.ModeObserve})
		verify(t, s.Client, writers)
		acknowledged += writeUntilKilled(t, s, writers, 1+rand.IntN(mostAcks))
		if t.Failed() {
			return
		}
	}
	s := server.Start(t, server.Options{Home: home, Mode: fleet.ModeObserve})
	verify(t, s.Client, writers)
	s.Stop()
	t.Logf("%d kills, %d acknowledged writes, all found", rounds, acknowledged)
}

func writeUntilKilled(t *testing.T, s *server.Server, writers []*writer, acks int) int {
	t.Helper()
	var count atomic.Int64
	kill := make(chan struct{})
	var once sync.Once
	var all sync.WaitGroup
	for _, w := range writers {
		all.Go(func() {
			for w.write(t.Context(), s.Client) == nil {
				if count.Add(1) >= int64(acks) {
					once.Do(func() { close(kill) })
				}
			}
		})
	}
	<-kill
	s.Kill()
	all.Wait()
	return int(count.Load())
}

// write does one write; an error means that the server is gone.
func (w *writer) write(ctx context.Context, c *client.Client) error {
	w.n++
	switch w.n % 4 {
	case 0:
		return w.putDevice(ctx, c)
	case 3:
		return w.deleteTemplate(ctx, c)
	}
	label, op, key, text := fmt.Sprintf("%s %d", w.device.Short(), w.n), "set", "options.natEnabled", "false"
	made, err := c.CreateTemplate(ctx, api.PutTemplate{Label: &label, Op: &op, Key: &key, Template: &text})
	if err == nil {
		w.templates[made.ID] = label
	}
	return err
}

func (w *writer) putDevice(ctx context.Context, c *client.Client) error {
	label, key, address, port := fmt.Sprint(w.n), "key", "127.0.0.1", int64(1)
	w.attempted = label
	_, _, err := c.PutDevice(ctx, string(w.device), api.PutDevice{Label: &label, APIKey: &key, APIAddress: &address,
		APIPort: &port})
	if err == nil {
		w.label = label
	}
	return err
}

func (w *writer) deleteTemplate(ctx context.Context, c *client.Client) error {
	for id := range w.templates {
		err := c.DeleteTemplate(ctx, id)
		delete(w.templates, id) // deleted, or nobody knows
		if err == nil {
			w.deleted[id] = true
		}
		return err
	}
	return nil
}

func verify(t *testing.T, c *client.Client, writers []*writer) {
	t.Helper()
	devices, err := c.Devices(t.Context(), client.List{})
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{}
	for _, d := range devices {
		labels[d.DeviceID] = d.Label
	}
	all, err := c.Templates(t.Context(), client.List{})
	if err != nil {
		t.Fatal(err)
	}
	templates := map[int64]string{}
	for _, template := range all {
		templates[template.ID] = template.Label
	}
	for _, w := range writers {
		if got := labels[string(w.device)]; got != w.label && got != w.attempted {
			t.Errorf("%s: got label %q, acknowledged was %q, sent last %q", w.device.Short(), got, w.label, w.attempted)
		}
		w.label = labels[string(w.device)]
		for id, label := range w.templates {
			if templates[id] != label {
				t.Errorf("template %d: got %q, acknowledged was %q", id, templates[id], label)
			}
		}
		for id := range w.deleted {
			if _, there := templates[id]; there {
				t.Errorf("template %d is back although its deletion was acknowledged", id)
			}
		}
	}
}
