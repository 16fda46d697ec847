package bombs_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
	"muster/test/server"
	"muster/test/wait"
)

// appliedLimit is how long a fleet may take to have what a template says.
const appliedLimit = 20 * time.Minute

// mayGrowApplied is mayGrow with what templates within the bounds made of the daemons. The configuration that one has
// afterwards is 1.8 MiB of JSON, for 1,100 folders. The server reads one such at a time: its text, its values before
// and after, and what is recorded take 16 MiB. The mirror keeps the state of each folder, which is 1 KiB; the garbage
// collector lets the heap become twice what is kept, and all daemons are read at once after a restart. In the short
// form what the mirror keeps of its few daemons is within the 16 MiB.
func mayGrowApplied() int64 {
	const document = 16 << 20
	if fleetSize() == shortFleet {
		return mayGrow + document
	}
	return mayGrow + document + int64(fleetSize())*1100*3072
}

// What templates within the bounds make of the daemons goes through the server on its way there, and comes back.
func TestNoAppliedTemplateMakesTheServerLarge(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(bombs())) {
		if !strings.HasSuffix(name, fits) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			b, s, idle := startBombed(t)
			largest := peak(t, s.PID(), func() { b.apply(t, s, planBombs[name]) })
			t.Logf("%d MiB above the idle server, %d afterwards; %s",
				(largest-idle)>>20, (memoryOf(t, s.PID(), "VmRSS:")-idle)>>20, reasonOf(t, s, b.ids[0]))
			if largest-idle > mayGrowApplied() {
				t.Errorf("the server grew by %d MiB", (largest-idle)>>20)
			}
			s.Stop()
			s = server.Start(t, server.Options{Home: s.Home})
			again := peak(t, s.PID(), func() { b.awaitIdle(t, s) })
			t.Logf("%d MiB above the idle server after a restart", (again-idle)>>20)
			if again-idle > mayGrowApplied() {
				t.Errorf("the server that started again is larger by %d MiB", (again-idle)>>20)
			}
		})
	}
}

// startBombed starts a server with its fleet, in mode on, and gives what it takes before there are templates.
func startBombed(t *testing.T) (*bombed, *server.Server, int64) {
	t.Helper()
	b := newBombed(t)
	s := server.Start(t, server.Options{Soak: time.Millisecond})
	b.register(t, s)
	b.awaitIdle(t, s)
	s.Stop()
	s = server.Start(t, server.Options{Soak: time.Millisecond, Home: s.Home})
	return b, s, peak(t, s.PID(), func() { b.awaitIdle(t, s) })
}

// apply saves a template, and waits until every device has what it says, or waits for consent.
func (b *bombed) apply(t *testing.T, s *server.Server, bomb planBomb) {
	t.Helper()
	s.Template(bomb.op, bomb.key, bomb.text, bombTag)
	b.tag(t, s)
	done := []string{string(fleet.ConfigInSync), string(fleet.ConfigHeld), string(fleet.ConfigFailed)}
	b.each(t, s, func(state api.DeviceState) bool { return slices.Contains(done, state.Configuration) })
}

// Many may read at once what templates made of a device.
func TestNoReplyMakesTheServerLarge(t *testing.T) {
	b, s, idle := startBombed(t)
	b.apply(t, s, planBombs["labels"+fits])
	id := string(b.ids[0])
	var revisions []api.Revision
	wait.Until(t, func() string { // what was read back is kept a moment later
		var err error
		if revisions, err = s.Client.Revisions(t.Context(), id, client.List{}); err != nil || len(revisions) < 2 {
			return fmt.Sprintf("%d revisions, %v", len(revisions), err)
		}
		return ""
	})
	first, last := revisions[len(revisions)-1].Number, revisions[0].Number
	for _, of := range []string{
		"config", fmt.Sprintf("revisions/%d", last), fmt.Sprintf("revisions/%d/diff/%d", first, last), "plan",
	} {
		t.Run(of, func(t *testing.T) {
			largest := peak(t, s.PID(), func() {
				var all sync.WaitGroup
				for range 20 {
					all.Go(func() { get(t, s, "devices/"+id+"/"+of) })
				}
				all.Wait()
			})
			t.Logf("%d MiB above the idle server", (largest-idle)>>20)
			if largest-idle > mayGrowApplied() {
				t.Errorf("the server grew by %d MiB", (largest-idle)>>20)
			}
		})
	}
}

// get reads an answer and holds none of it.
func get(t *testing.T, s *server.Server, path string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/api/v1/"+path, nil)
	if err != nil {
		t.Error(err)
		return
	}
	request.Header.Set("Authorization", "Bearer "+s.Token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Error(err)
		return
	}
	defer response.Body.Close()
	if n, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("%s: %s, %d bytes, %v", path, response.Status, n, err)
	}
}
