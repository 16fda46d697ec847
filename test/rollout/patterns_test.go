package rollout_test

import (
	"strings"
	"testing"

	"muster/internal/fleet"
	"muster/test/server"
)

// Patterns that include a file which is not there stop the folder of the first device. No other device gets them.
func TestPatternsThatStopAFolderHaltTheRollout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 14, server.Options{})
	w.template("ignores.*", `["#include nothing"]`)
	r := w.comesTo(fleet.RolloutHalted)
	if r.Halt.Gate != string(fleet.GateFolders) || !strings.Contains(r.Halt.Saw, "nothing") {
		t.Errorf("got %+v: want the gate of the folders, and what it saw", r.Halt)
	}
	with := 0
	for _, d := range w.farm.Daemons() {
		for _, folder := range d.FolderIDs() {
			if len(d.Ignores(folder)) > 0 {
				with++
				w.WaitConfiguration(d.ID(), fleet.ConfigFailed)
				break
			}
		}
	}
	if with != 1 {
		t.Errorf("%d daemons have the patterns, want the first one", with)
	}
}
