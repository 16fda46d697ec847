package cli

import (
	"strings"
	"testing"

	"muster/api"
)

func TestWhatAnUndoLeftIsPrinted(t *testing.T) {
	var out strings.Builder
	undone := api.UndoneRollout{
		RolloutDetail: api.RolloutDetail{Rollout: api.Rollout{ID: 7, Status: "undone"}},
		Waiting:       []api.AnsweredKey{{DeviceID: "A", Label: "one", Key: "folders.p"}},
		Problems:      []string{"not all devices could be planned (it took too long): answer what waits"},
	}
	if err := printUndone(&out, undone); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Rollout 7 is undone",
		"The undo is done, but not all devices could be planned (it took too long): answer what waits.",
		"only an admin may answer it", "muster consent list", "one", "folders.p"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %s, want %q in it", out.String(), want)
		}
	}
	out.Reset()
	undone.Waiting, undone.Problems = nil, nil
	if err := printUndone(&out, undone); err != nil || strings.Contains(out.String(), "Not answered") ||
		strings.Contains(out.String(), "The undo is done, but") {
		t.Errorf("got %s, %v: nothing is left", out.String(), err)
	}
}
