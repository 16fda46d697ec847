package mirror

import (
	"testing"
	"time"

	"muster/internal/engine/mirror"
	"muster/internal/fleet"
	"muster/test/daemon"
)

// frozenLimit is generous: a request other than the poll may wait for 15 s, and the poll alone for more than a minute.
const frozenLimit = 45 * time.Second

// A daemon that stood still was online for 36 s, although somebody looked at its folder.
func TestADaemonThatStandsStillIsNotOnline(t *testing.T) {
	t.Parallel()
	d := daemon.Start(t, daemon.Options{})
	d.AddFolder("photos")
	w := start(t)
	w.Put(registered(d), false)
	w.until(d.ID, "the folder is known", func(s mirror.Snapshot) bool { return s.IsCurrent("photos") })
	d.Freeze()
	began := time.Now()
	w.until(d.ID, "not online", func(s mirror.Snapshot) bool {
		w.View(d.ID, "photos")
		return s.Connection != fleet.Online
	})
	if took := time.Since(began); took > frozenLimit {
		t.Errorf("it was online for %v", took)
	}
	d.Thaw()
	w.until(d.ID, "online again", func(s mirror.Snapshot) bool { return s.IsCurrent("photos") })
}
