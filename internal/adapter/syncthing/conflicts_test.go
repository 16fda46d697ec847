package syncthing

import (
	"strings"
	"testing"

	"muster/internal/fleet"
)

func TestConflictsAmongChangesOfFiles(t *testing.T) {
	body := `[
		{"id":4,"time":"2026-11-20T23:10:00Z","type":"RemoteChangeDetected",
			"data":{"folder":"a","path":"x.txt","action":"modified"}},
		{"id":5,"time":"2026-11-20T23:10:01Z","type":"LocalChangeDetected","data":{"folder":"a","action":"modified",
			"path":"docs/x.sync-conflict-20261120-231001-P56IOI7.txt","type":"file"}},
		{"id":6,"time":"2026-11-20T23:10:02Z","type":"LocalChangeDetected","data":{"folder":"a","action":"deleted",
			"path":"docs/x.sync-conflict-20261120-231001-P56IOI7.txt"}},
		{"id":7,"type":"LocalChangeDetected","data":{"folder":"a","path":".stversions/x.sync-conflict-1"}},
		{"id":8,"type":"LocalChangeDetected","data":{"folder":"a","path":"of.sync-conflict-1/x"}},
		{"id":9,"type":"LocalChangeDetected","data":{"folder":"a","path":"` + strings.Repeat("x", 1<<20) + `.sync-conflict-1"}}]`
	changes, last, err := parseConflicts([]byte(body), 3, &DefaultLimits)
	if err != nil || last != 9 || len(changes) != 2 {
		t.Fatalf("%+v, %d, %v", changes, last, err)
	}
	if c := changes[0]; c.Folder != "a" || c.Path != "docs/x.sync-conflict-20261120-231001-P56IOI7.txt" || c.Gone ||
		c.At.IsZero() || !changes[1].Gone {
		t.Errorf("%+v", changes)
	}
	for name, hostile := range map[string]string{
		"no list":           `{}`,
		"numbers backwards": `[{"id":9,"type":"a"},{"id":8,"type":"a"}]`,
		"an old number":     `[{"id":3,"type":"a"}]`,
		"another type":      `[{"id":9,"type":"a","data":{"path":[".sync-conflict-"]}}]`,
		"too many":          "[" + eventsOf(1001) + "]",
	} {
		if _, _, err := parseConflicts([]byte(hostile), 3, &DefaultLimits); fleet.CodeOf(err) != fleet.CodeUnbelievable {
			t.Errorf("%s: %v", name, err)
		}
	}
}
