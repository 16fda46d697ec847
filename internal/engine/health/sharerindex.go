package health

import (
	"slices"
	"strings"

	"muster/internal/fleet"
)

// sharerIndex finds the devices that share a folder with a given device. It costs one word for each share and one for
// each device of each different set of sharers, because most devices of a folder have the same set.
type sharerIndex struct {
	sets  map[fleet.DeviceID][]fleet.Peers // the sets that have the device
	books map[fleet.Peers][]*folderBook    // the devices that share a folder with this set, once for each folder
}

func newSharerIndex() sharerIndex {
	return sharerIndex{sets: map[fleet.DeviceID][]fleet.Peers{}, books: map[fleet.Peers][]*folderBook{}}
}

// replace takes the shares of a device in place of those that it had before.
func (x *sharerIndex) replace(book *folderBook, before, now []fleet.SharedFolder) {
	if slices.Equal(before, now) {
		return
	}
	for _, share := range before {
		if share.With != (fleet.Peers{}) {
			x.remove(book, share.With)
		}
	}
	for _, share := range now {
		if share.With != (fleet.Peers{}) {
			x.add(book, share.With)
		}
	}
}

func (x *sharerIndex) add(book *folderBook, with fleet.Peers) {
	if len(x.books[with]) == 0 {
		for peer := range with.All() {
			if x.sets[peer] == nil {
				peer = fleet.DeviceID(strings.Clone(string(peer)))
			}
			x.sets[peer] = append(x.sets[peer], with)
		}
	}
	x.books[with] = append(x.books[with], book)
}

func (x *sharerIndex) remove(book *folderBook, with fleet.Peers) {
	books := removeOne(x.books[with], book)
	if x.books[with] = books; len(books) > 0 {
		return
	}
	delete(x.books, with)
	for peer := range with.All() {
		if x.sets[peer] = removeOne(x.sets[peer], with); len(x.sets[peer]) == 0 {
			delete(x.sets, peer)
		}
	}
}

// removeOne removes an element from a list without order.
func removeOne[T comparable](list []T, element T) []T {
	at := slices.Index(list, element)
	if at < 0 {
		return list
	}
	last := len(list) - 1
	list[at] = list[last]
	var none T
	list[last] = none
	return list[:last]
}

// addSharingWith adds the devices that share a folder with a device, also where that one does not share it with them.
func (x *sharerIndex) addSharingWith(device fleet.DeviceID, to map[fleet.DeviceID]bool) {
	for _, with := range x.sets[device] {
		for _, book := range x.books[with] {
			to[book.seen.Device] = true
		}
	}
}
