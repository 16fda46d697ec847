package health

import (
	"maps"
	"math/rand/v2"
	"testing"

	"muster/internal/fleet"
)

// The index finds what a walk over the shares of all devices finds, whatever came before.
func TestSharerIndexFindsWhatAWalkOverAllSharesFinds(t *testing.T) {
	ids := []fleet.DeviceID{deviceA, deviceB, deviceC}
	index, books := newSharerIndex(), map[fleet.DeviceID]*folderBook{}
	for _, id := range ids {
		books[id] = &folderBook{seen: &fleet.Snapshot{Device: id}}
	}
	for range 2000 {
		book := books[ids[rand.N(len(ids))]]
		var shares []fleet.SharedFolder
		for _, folder := range []string{"a", "b", "c"}[:rand.N(4)] {
			var with []fleet.DeviceID
			for _, id := range ids {
				if rand.N(2) == 0 {
					with = append(with, id)
				}
			}
			shares = append(shares, fleet.SharedFolder{Folder: folder, With: fleet.PeersOf(with)})
		}
		index.replace(book, book.seen.Shares, shares)
		book.seen = &fleet.Snapshot{Device: book.seen.Device, Shares: shares}
		for _, id := range ids {
			found, want := map[fleet.DeviceID]bool{}, map[fleet.DeviceID]bool{}
			index.addSharingWith(id, found)
			for _, book := range books {
				for _, share := range book.seen.Shares {
					if share.With.Has(id) {
						want[book.seen.Device] = true
					}
				}
			}
			if !maps.Equal(found, want) {
				t.Fatalf("%s is shared with by %v, the index has %v", id, want, found)
			}
		}
	}
	for _, book := range books {
		index.replace(book, book.seen.Shares, nil)
	}
	if len(index.sets) > 0 || len(index.books) > 0 {
		t.Errorf("without shares the index still has %d devices and %d sets", len(index.sets), len(index.books))
	}
}
