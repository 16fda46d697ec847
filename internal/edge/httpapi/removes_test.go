package httpapi

import (
	"testing"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
)

// An operator may consent to a removal. A report leaves large values out, and then a change looks like a removal.
func TestAChangeWhoseValueIsLeftOutIsNoRemoval(t *testing.T) {
	key, err := stconfig.ParseKey("folders.photos")
	if err != nil {
		t.Fatal(err)
	}
	changed := plan.Change{Key: key, From: stconfig.Text("old"), To: stconfig.Text("new")}
	removed := plan.Change{Key: key, From: stconfig.Text("old")}
	for _, room := range []bool{true, false} {
		if removes(changed.Reported(room)) || !removes(removed.Reported(room)) {
			t.Errorf("with room %v: changed removes %v, removed removes %v",
				room, removes(changed.Reported(room)), removes(removed.Reported(room)))
		}
	}
}
