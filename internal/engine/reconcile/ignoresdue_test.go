package reconcile

import (
	"testing"
	"time"
)

// Patterns that a person took away at the daemon stayed unseen for a quarter of an hour.
func TestIgnorePatternsAreComparedWhereNothingElseIsToDo(t *testing.T) {
	if ignoresEvery > time.Minute {
		t.Errorf("ignore patterns are read every %v", ignoresEvery)
	}
	patterns := map[string][]string{"photos": {"*.tmp"}}
	past, later := time.Now().Add(-time.Second), time.Now().Add(time.Hour)
	for name, test := range map[string]struct {
		until    time.Time
		lack     bool
		digest   string
		compared bool
		isDone   bool
	}{
		"due":                             {past, false, "d", true, false},
		"not due":                         {later, false, "d", false, true},
		"some could not be read":          {past, true, "d", false, false},
		"another document was read":       {past, false, "other", false, false},
		"another document, not due":       {later, false, "other", false, false},
		"some could not be read, not due": {later, true, "d", false, true},
	} {
		made := newHistory()
		h := &made
		h.done("d", fingerprint{}, h.timesForgotten(), 0)
		h.putIgnores(patterns, test.until, test.lack)
		if got := h.ignoresToCompare(test.digest, fingerprint{}, 1) != nil; got != test.compared {
			t.Errorf("%s: compared %v", name, got)
		}
		if got := h.isDone(test.digest, fingerprint{}, 1); got != test.isDone {
			t.Errorf("%s: done %v", name, got)
		}
	}
}
