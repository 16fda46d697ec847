package cli

import (
	"strings"
	"testing"
	"time"

	"muster/api"
)

func TestAChangeNamesItsSubject(t *testing.T) {
	const device = "7H7ES4I-EQBUD6H-V4U4DO3-A2D4Y2E-DSRYVE6-JSDVKXR-IOJC7CZ-VABKNQS"
	for _, one := range []struct {
		part api.ChangePart
		want string
	}{
		{
			part: api.ChangePart{Text: "template created", Count: 1, Subject: "4", Detail: "Plans"},
			want: "template created (4 Plans)",
		},
		{
			part: api.ChangePart{Text: "device changed", Count: 1, Subject: device, Detail: "laptop"},
			want: "device changed (7H7ES4I laptop)",
		},
		{part: api.ChangePart{Text: "user created", Count: 1, Subject: "anna"}, want: "user created (anna)"},
		{part: api.ChangePart{Text: "2 devices tagged", Count: 2}, want: "2 devices tagged"},
	} {
		if got := partsInWords(api.RecentChange{Parts: []api.ChangePart{one.part}}); got != one.want {
			t.Errorf("got %q, want %q", got, one.want)
		}
	}
}

func TestChangesAreListedSinceATime(t *testing.T) {
	at := func(ago time.Duration) api.Time { return api.Time{Time: time.Now().Add(-ago)} }
	address, _ := serving(t, map[string]any{"audit/changes": []api.RecentChange{
		{At: at(time.Hour), Who: "anna"}, {At: at(3 * time.Hour), Who: "otto"}}})
	code, out, errs := run(t, "audit", "changes", "--since", "2h", "--server", address, "--token", "x")
	if code != exitDone || errs != "" || !strings.Contains(out, "anna") || strings.Contains(out, "otto") {
		t.Errorf("got %d, %q, %q", code, out, errs)
	}
}

// A change was listed without the rollout that brings it, and without the command that takes it back.
func TestAChangeHasItsRolloutAndTheCommandThatUndoesIt(t *testing.T) {
	address, _ := serving(t, map[string]any{"audit/changes": []api.RecentChange{
		{Who: "anna", Rollout: 12, Undoable: true}, {Who: "otto", Rollout: 11}, {Who: "eva"}}})
	code, out, errs := run(t, "audit", "changes", "--server", address, "--token", "x")
	if code != exitDone || !strings.Contains(out, "12       muster rollout undo 12") ||
		!strings.Contains(out, "11       -") || !strings.Contains(out, "-        -") {
		t.Errorf("got %d, %q, %q", code, out, errs)
	}
}
