package health

import (
	"strings"
	"testing"

	"muster/internal/fleet"
)

func TestACopiedHomeIsShownWithBothAddresses(t *testing.T) {
	s := &fleet.Snapshot{Device: "A", Connection: fleet.Online, FoundBy: fleet.FoundByAgent, Address: "192.0.2.1:1000"}
	h := New()
	if !h.SetRival("A", "192.0.2.2:2000") || h.SetRival("A", "192.0.2.2:2001") || !h.SetRival("A", "") ||
		!h.SetRival("A", "192.0.2.2:2000") {
		t.Error("what is new is not told")
	}
	state, err := h.State("A", Facts{Snapshot: s})
	if err != nil || state.Connection != fleet.Cloned || !strings.Contains(state.Reason, s.Address) ||
		!strings.Contains(state.Reason, "192.0.2.2:2000") || state.Next == "" {
		t.Errorf("got %+v, %v", state, err)
	}
	h.SetRival("A", "")
	if state, err = h.State("A", Facts{Snapshot: s}); err != nil || state.Connection != fleet.Online {
		t.Errorf("without another agent it is %+v, %v", state, err)
	}
}

// Two agents on one machine were a copied identity, and people were told to delete one.
func TestNobodyIsToldToDeleteAnIdentityWithoutWhatItCosts(t *testing.T) {
	for _, test := range []struct {
		first, second string
		perhaps       bool
	}{
		{"192.0.2.1:1000", "192.0.2.1:2000", true},
		{"[2001:db8::1]:1000", "[2001:db8::1]:2000", true},
		{"192.0.2.1:1000", "192.0.2.2:1000", false},
		{"", "", false},
	} {
		next := fleet.ClonedNext(test.first, test.second)
		if strings.HasPrefix(next, "Perhaps two agents run on one machine") != test.perhaps ||
			!strings.Contains(next, "another device ID") || !strings.Contains(next, "keep them") ||
			strings.Contains(strings.ToLower(next), "remove") {
			t.Errorf("%s and %s: got %q", test.first, test.second, next)
		}
	}
	if text := fleet.WaitTexts[fleet.WaitCloned]; !text.ByReason {
		t.Errorf("devices with different causes are one group: %+v", text)
	}
}
