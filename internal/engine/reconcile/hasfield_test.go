package reconcile_test

import (
	"testing"

	"muster/internal/core/stconfig"
)

// A field of a newer Syncthing was called a mistake when a template with it was saved, although the fleet's own daemons
// show it.
func TestAFieldThatADaemonShowsIsKnown(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t)
		b.start()
		defer b.stop()
		b.daemon.edit("options.brandNew", "true")
		b.daemon.edit("folders.own", `{"id": "own", "path": "/home/one/own", "newest": {"inner": 1}}`)
		b.seen()
		for text, want := range map[string]bool{"options.brandNew": true, "options.brandnew": true, "options.none": false,
			"folders.other.newest": true, "folders.*.newest.inner": true, "gui.brandNew": false} {
			key, err := stconfig.ParseKey(text)
			if err != nil {
				t.Fatal(err)
			}
			if got := b.engine.HasField(t.Context(), key); got != want {
				t.Errorf("%s: got %v, want %v", text, got, want)
			}
		}
	})
}
