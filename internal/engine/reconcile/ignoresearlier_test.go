package reconcile

import (
	"testing"
	"time"
)

// A folder whose patterns a person takes away is scanned. Its patterns are read then, a minute before they would be.
func TestAFolderThatChangesItsStateHasItsPatternsReadEarlier(t *testing.T) {
	now := time.Now()
	var h history
	h.putIgnores(map[string][]string{"photos": {"*.tmp"}}, now.Add(ignoresEvery), false)
	changed := map[string]time.Time{}
	states := func() func(string) time.Time { return func(folder string) time.Time { return changed[folder] } }
	if _, hinted := h.hintIgnores(states, now); hinted {
		t.Error("nothing changed, and patterns are read earlier")
	}
	changed["music"] = now
	if _, hinted := h.hintIgnores(states, now); hinted {
		t.Error("a folder without patterns has patterns read")
	}
	changed["photos"] = now
	wait, hinted := h.hintIgnores(states, now)
	if !hinted || wait > 2*ignoresPause {
		t.Errorf("after a scan patterns are read after %v, %t", wait, hinted)
	}
	if left := h.ignoresUntil.Sub(now); left > 2*ignoresPause {
		t.Errorf("the patterns are believed for %v more", left)
	}
	if _, hinted := h.hintIgnores(states, now); hinted {
		t.Error("one change has patterns read earlier twice")
	}
}
