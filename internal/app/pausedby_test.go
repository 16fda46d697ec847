package app

import (
	"slices"
	"testing"
	"time"

	"muster/internal/adapter/store"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// TestByWhomAFolderIsPaused names nobody where an order that is not stored any more may have paused the device.
func TestByWhomAFolderIsPaused(t *testing.T) {
	const device, peer, other = fleet.DeviceID("A"), fleet.DeviceID("B"), fleet.DeviceID("C")
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	order := func(id int64, what fleet.OrderType, on fleet.DeviceID) fleet.Order {
		return fleet.Order{ID: id, OrderSpec: fleet.OrderSpec{Type: what}, Devices: []fleet.DeviceID{on}, Done: 1, By: "ann",
			BeganAt: at, EndedAt: at}
	}
	paused := func(keys ...stconfig.Key) map[store.BaseKey]fleet.BaseEntry {
		entries := map[store.BaseKey]fleet.BaseEntry{}
		for _, key := range keys {
			key = key.Child("paused")
			entries[store.BaseKey{Device: device, Key: key.String()}] = fleet.BaseEntry{Key: key.String(),
				Kind: fleet.BaseLeaf, Written: []byte("true"), Templates: []int64{7}}
		}
		return entries
	}
	folder := stconfig.Key{}.Child("folders").Child("f")
	devices := stconfig.Key{}.Child("devices")
	toPeer, toOther := devices.Child(string(peer)), devices.Child(string(other))
	toPause := []fleet.Order{order(1, fleet.OrderPause, device)}
	toPauseFolder := []fleet.Order{order(3, fleet.OrderPause, device)}
	toPauseFolder[0].Folder = "f"
	for name, c := range map[string]struct {
		whole   bool // the folder itself is paused
		p       pausing
		since   time.Time // time at which Muster saw it become paused; zero: it did not
		want    fleet.PauseCause
		order   int64
		unknown bool
	}{
		"the folder, by a person":     {whole: true, p: pausing{complete: true}, want: fleet.PausedByPerson},
		"the folder, by an order":     {whole: true, p: pausing{orders: toPauseFolder}, want: fleet.PausedByOrder, order: 3},
		"connections, not the folder": {p: pausing{orders: toPauseFolder, complete: true}, want: fleet.PausedByPerson},
		"the folder alone": {whole: true, p: pausing{orders: toPause, complete: true},
			want: fleet.PausedByPerson},
		"the folder, by a template":    {whole: true, p: pausing{entries: paused(folder)}, want: fleet.PausedByTemplate},
		"connections, by a person":     {p: pausing{complete: true}, want: fleet.PausedByPerson},
		"connections, by an order":     {p: pausing{orders: toPause}, want: fleet.PausedByOrder, order: 1},
		"connections, not known":       {p: pausing{orders: []fleet.Order{order(1, fleet.OrderPause, peer)}}, unknown: true},
		"connections, by templates":    {p: pausing{entries: paused(toPeer, toOther)}, want: fleet.PausedByTemplate},
		"one connection by a template": {p: pausing{entries: paused(toPeer), complete: true}, want: fleet.PausedByPerson},
		"resumed by an order": {p: pausing{orders: []fleet.Order{order(2, fleet.OrderResume, device), toPause[0]}},
			want: fleet.PausedByPerson},
		"paused again after an order": {p: pausing{orders: toPause}, since: at.Add(time.Hour), want: fleet.PausedByPerson},
	} {
		f := pausedFolder{FolderStanding: &fleet.FolderStanding{Device: device, Folder: "f", Paused: c.whole,
			State: fleet.FolderPaused, Witnessed: !c.since.IsZero(), Since: c.since}, members: []stconfig.Key{toPeer, toOther}}
		if c.whole {
			f.members = []stconfig.Key{folder}
		}
		all := &fleet.Registry{}
		by, known := c.p.by(f, all, all)
		if known == c.unknown || known && (by.Cause != c.want || by.Order != c.order) {
			t.Errorf("%s: got %+v, known %v", name, by, known)
		}
		if templates := by.Cause == fleet.PausedByTemplate; known && templates != slices.Equal(by.Templates, []int64{7}) {
			t.Errorf("%s: got templates %v", name, by.Templates)
		}
	}
}
