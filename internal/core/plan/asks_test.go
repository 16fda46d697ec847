package plan

import (
	"testing"

	"muster/internal/core/stconfig"
)

// An operator may consent to a removal. A report leaves large values out, and then a change looks like a removal.
func TestAChangeWhoseValueIsLeftOutIsNoRemoval(t *testing.T) {
	key, err := stconfig.ParseKey("folders.photos")
	if err != nil {
		t.Fatal(err)
	}
	changed := Change{Key: key, From: stconfig.Text("old"), To: stconfig.Text("new")}
	removed := Change{Key: key, From: stconfig.Text("old")}
	for _, room := range []bool{true, false} {
		if changed.Reported(room).TakesAway() || !removed.Reported(room).TakesAway() {
			t.Errorf("with room %v: changed removes %v, removed removes %v",
				room, changed.Reported(room).TakesAway(), removed.Reported(room).TakesAway())
		}
	}
}
