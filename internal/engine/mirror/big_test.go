package mirror

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"muster/internal/fleet"
)

// After a restart, or after a template that made every configuration large, all watchers read theirs at once.
func TestBigConfigurationsThatWaitTakeLittleMemory(t *testing.T) {
	const daemons, size = 40, 1 << 20
	synctest.Test(t, func(t *testing.T) {
		note := strings.Repeat("n", size)
		fakes := map[fleet.DeviceID]*fake{}
		for n := range daemons {
			f := newFake(n)
			f.folders = []fakeFolder{{ID: "a", Note: note}}
			fakes[id(n)] = f
		}
		gate := make(chan struct{})
		m := New(Options{
			Dial: func(target Target) Daemon { return fakes[target.Device] },
			Sink: discarding{},
			Read: func(own fleet.DeviceID, document []byte) (Reading, error) {
				<-gate
				return readFake(own, document)
			},
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		before := heap()
		for n := range daemons {
			m.Put(fleet.Registered{Device: fleet.Device{ID: id(n), APIAddress: "10.0.0.1", APIPort: 8384}}, false)
		}
		pass(connectsASecond * daemons)
		if grown := heap() - before; grown > 3*maxUnread { // all of them would be five times
			t.Errorf("%d configurations of %d MiB take %d MiB while they wait", daemons, size>>20, grown>>20)
		}
		close(gate)
		pass(pollWait)
		for n := range daemons {
			if s := m.Snapshot(id(n)); s.Connection != fleet.Online || s.Digest == "" {
				t.Errorf("a device is %s, digest %q", s.Connection, s.Digest)
			}
		}
		cancel()
		<-ended
	})
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

type discarding struct{}

func (discarding) SaveObservations(context.Context, []fleet.Observation) error { return nil }

func TestALongLabelIsListedShortened(t *testing.T) {
	long := strings.Repeat("ü", maxLabelBytes)
	r, err := ReadConfig(id(1), document(`{"id":"a","label":"`+long+`"}`))
	if err != nil {
		t.Fatal(err)
	}
	got := r.Folders[0].Label
	begins := strings.HasPrefix(long, strings.TrimSuffix(got, "…"))
	if len(got) > maxLabelBytes || !strings.HasSuffix(got, "ü…") || !begins {
		t.Errorf("the label has %d bytes and ends with %q", len(got), got[max(0, len(got)-10):])
	}
}
