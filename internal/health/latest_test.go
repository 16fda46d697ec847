package health

import (
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"muster/internal/fleet"
)

var (
	registered = &fleet.Registry{Devices: map[fleet.DeviceID]*fleet.Registered{"A": {}}}
	needsSome  = Facts{Registry: registered, Snapshot: &fleet.Snapshot{Connection: fleet.Online,
		Summaries: map[string]fleet.FolderSummary{"p": {NeedBytes: 1}}}}
	hasAll = Facts{Registry: registered, Snapshot: &fleet.Snapshot{Connection: fleet.Online,
		Summaries: map[string]fleet.FolderSummary{"p": {}}}}
	away    = Facts{Registry: registered, Snapshot: &fleet.Snapshot{Connection: fleet.Unreachable}}
	deleted = Facts{Registry: &fleet.Registry{}}
)

// withDevice is a roll-up of one device with one folder, and the two ways to tell it of a change.
func withDevice() (r *Rollup, ways map[string]func(now func() Facts)) {
	r = NewRollup()
	r.Put("A", fleet.Online, fleet.ConfigUnknown)
	r.SetFolders("A", labels("p", "Photos"))
	health := New()
	return r, map[string]func(now func() Facts){
		"counted": func(now func() Facts) { r.Count("A", health, func(fleet.DeviceID) Facts { return now() }) },
		"summarised": func(now func() Facts) {
			r.Summarise("A", func(fleet.DeviceID) *fleet.Snapshot { return now().Snapshot })
		},
	}
}

// A caller that has asked for the facts and not counted them yet is overtaken by one that has later facts.
func TestNothingOlderIsCountedAfterTheLatest(t *testing.T) {
	for name, c := range map[string]struct {
		way    string
		latest Facts
	}{
		"away now":    {"counted", away},
		"deleted now": {"counted", deleted},
		"in sync now": {"summarised", hasAll},
	} {
		t.Run(name, func(t *testing.T) {
			want, ways := withDevice()
			ways[c.way](func() Facts { return c.latest })
			got, ways := withDevice()
			second := make(chan struct{})
			ways[c.way](func() Facts {
				go func() {
					defer close(second)
					ways[c.way](func() Facts { return c.latest })
				}()
				if got.latest.TryLock() { // then the second caller does not wait for the first
					got.latest.Unlock()
					<-second
				}
				return needsSome
			})
			<-second
			if !reflect.DeepEqual(got.Counts(), want.Counts()) {
				t.Errorf("got %+v, want %+v", got.Counts(), want.Counts())
			}
		})
	}
}

// Several callers tell of the same device all the time. A reader that has read that the device is away, or that it has
// all files, never reads the opposite afterwards.
func TestTheLatestStaysWhileManyCount(t *testing.T) {
	for name, c := range map[string]struct {
		way      string
		latest   Facts
		isLatest func(Counts) bool
	}{
		"away":    {"counted", away, func(c Counts) bool { return c.Connections[fleet.Unreachable] == 1 }},
		"deleted": {"counted", deleted, func(c Counts) bool { return c.Devices == 0 }},
		"in sync": {"summarised", hasAll, func(c Counts) bool { return c.Folders.InSync == 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			r, ways := withDevice()
			var now atomic.Pointer[Facts]
			now.Store(&needsSome)
			var callers sync.WaitGroup
			for range 4 {
				callers.Go(func() {
					for n := range 200 {
						if n == 100 {
							now.Store(&c.latest)
						}
						ways[c.way](func() Facts { return *now.Load() })
					}
				})
			}
			ended := make(chan struct{})
			go func() { callers.Wait(); close(ended) }()
			for reached := false; ; {
				is := c.isLatest(r.Counts())
				if reached && !is {
					t.Fatalf("older facts were counted after the latest: %+v", r.Counts())
				}
				reached = is
				select {
				case <-ended:
					if !c.isLatest(r.Counts()) {
						t.Errorf("got %+v at the end", r.Counts())
					}
					return
				default:
				}
			}
		})
	}
}
