package mirror

import (
	"context"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// A first contact or a reading of the status grew the stack of each watcher to 16 KiB for as long as it polled.
func TestAWatcherThatPollsHasASmallStack(t *testing.T) {
	const daemons, most = 1000, 12 << 10
	synctest.Test(t, func(t *testing.T) {
		fakes := map[fleet.DeviceID]*deepFake{}
		for n := range daemons {
			fakes[id(n)] = &deepFake{newFake(n)}
		}
		m := New(Options{
			Dial: func(target Target) Daemon { return fakes[target.Device] }, Sink: discarding{}, Read: readFake,
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		before := stacks()
		for n := range daemons {
			m.Put(fleet.Registered{Device: fleet.Device{ID: id(n), APIAddress: "10.0.0.1", APIPort: 8384}}, false)
		}
		pass(2 * statusEvery)
		each := (stacks() - before) / daemons
		for n := range daemons {
			if got := m.Snapshot(id(n)).Connection; got != fleet.Online {
				t.Fatalf("a device is %s", got)
			}
		}
		t.Logf("%d bytes of stack for each watcher", each)
		if each > most {
			t.Errorf("%d bytes of stack for each watcher, at most %d may be", each, most)
		}
		cancel()
		<-ended
	})
}

func stacks() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.StackInuse)
}

// deepFake needs as much stack as a real client does: little for a poll, much for all else.
type deepFake struct{ *fake }

func (*deepFake) Events(ctx context.Context, _ int64, _ int, wait time.Duration) ([]fleet.DaemonEvent, error) {
	var frame [3 << 10]byte
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
	touch(&frame)
	return nil, ctx.Err()
}

func (f *deepFake) Status(ctx context.Context) (fleet.Status, error) {
	var frame [12 << 10]byte
	status, err := f.fake.Status(ctx)
	touch(&frame)
	return status, err
}

// touch keeps the compiler from leaving a frame out.
//
//go:noinline
func touch[T any](frame *T) { runtime.KeepAlive(frame) }
