package reconcile_test

import (
	"testing"

	"muster/internal/fleet"
)

// A program that put the name of the list of devices together did not share with registered devices: Muster searched
// the text for that name, and took the program for one that is about its own device only.
func TestAProgramThatBuildsTheNameOfTheListShares(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, tmpl(1, fleet.OpMerge, "folders.photos", `def template():
    return {"path": "/srv/p", "dev" + "ices": [{"dev" + "iceID": "`+string(nora)+`"}]}
`))
		b.start()
		defer b.stop()
		b.want("devices."+string(nora)+".name", `"Nora"`)
		b.wantState(fleet.ConfigInSync, "")
	})
}
