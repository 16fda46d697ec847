package plan

import (
	"testing"

	"muster/internal/fleet"
)

// An `apply -f` of a template about something else let a contended key be written again.
func TestAStopEndsOnlyWithATemplateThatMayChangeItsKey(t *testing.T) {
	const id = "P56IOI7-MZJNU2Y-IQGDREY-DM2MGTI-MGL3BXN-PQ6W5BM-TBBZ4TJ-XZWICQ2"
	for _, test := range []struct {
		stopped, asked string
		ends           bool
	}{
		{"options.maxSendKbps", "options.maxSendKbps", true},
		{"options.maxSendKbps", "options", true},
		{"options.maxSendKbps", "", true},
		{"options.maxSendKbps", "options.natEnabled", false},
		{"options.maxSendKbps", "folders.photos", false},
		{"folders.photos.label", "folders.*.label", true},
		{"folders.photos.label", "folders.other.label", false},
		{"folders.photos", "folders.photos.devices." + id, true},
		{"folders.photos", "devices." + id, true},
		{"devices." + id, "folders.photos", true},
	} {
		before := []fleet.Template{{ID: 1, Op: fleet.OpSet, Key: test.stopped, Text: "1"}}
		after := append([]fleet.Template{{ID: 2, Op: fleet.OpMerge, Key: test.asked, Text: "2"}}, before...)
		ends := templatesDigest(before, test.stopped) != templatesDigest(after, test.stopped)
		if ends != test.ends {
			t.Errorf("%s stopped, and a template of %q saved: got %v", test.stopped, test.asked, ends)
		}
	}
}
