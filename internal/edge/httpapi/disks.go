package httpapi

import (
	"net/http"
	"reflect"
	"time"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// Disks returns what a device's agent reported about its disks, and until when that is known to hold. Nil: nothing.
type Disks interface {
	Disks(id fleet.DeviceID) (*fleet.DiskFacts, time.Time)
}

// DiskHandlers show the disks of devices.
type DiskHandlers struct {
	*base
	Disks Disks
}

func (s DiskHandlers) routes(b *base) []route {
	s.base = b
	return []route{{method: http.MethodGet, path: Prefix + "/devices/{deviceID}/disks", name: "listDeviceDisks",
		summary:    "How much is free under the folders of a device, and whether they are there, as its agent tells it",
		permission: auth.Read, reply: reflect.TypeFor[[]api.DiskUse](), off: s.Disks == nil, handle: s.ofDevice(s.listDisks)}}
}

func (s DiskHandlers) listDisks(r *request, device *fleet.Registered) (reply, error) {
	facts, asOf := s.Disks.Disks(device.ID)
	return show(wireDisks(facts, asOf))
}

// wireDisks has the home first, and after each folder its versions where they have a path of their own.
func wireDisks(facts *fleet.DiskFacts, asOf time.Time) []api.DiskUse {
	uses := []api.DiskUse{}
	if facts == nil {
		return uses
	}
	add := func(use, folder string, space fleet.DiskSpace, path, marker fleet.Presence) {
		uses = append(uses, api.DiskUse{Use: use, Folder: folder, FreeBytes: space.Free, TotalBytes: space.Total,
			NearlyFull: space.NearlyFull(), Path: string(path), Marker: string(marker), AsOf: api.Time{Time: asOf}})
	}
	add("home", "", facts.Home, fleet.PresenceUnknown, fleet.PresenceUnknown)
	for _, f := range facts.Folders {
		add("folder", f.Folder, f.Space, f.Path, f.Marker)
		if f.Versions.Total > 0 {
			add("versions", f.Folder, f.Versions, fleet.PresenceUnknown, fleet.PresenceUnknown)
		}
	}
	return uses
}
