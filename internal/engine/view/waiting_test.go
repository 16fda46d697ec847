package view

import (
	"testing"

	"muster/internal/fleet"
)

func TestEveryGroupSaysWhatToDo(t *testing.T) {
	for _, cause := range fleet.WaitCauses {
		text, known := fleet.WaitTexts[cause]
		if !known || text.Severity == "" {
			t.Errorf("%s has no severity", cause)
		}
		if text.ByReason || cause == fleet.WaitPendingDevice || cause == fleet.WaitPendingFolder {
			continue
		}
		if text.Reason == "" || text.Next == "" {
			t.Errorf("%s says neither why nor what to do where its devices differ", cause)
		}
	}
}
