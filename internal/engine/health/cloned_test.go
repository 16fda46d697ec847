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
