package plan

import (
	"net/url"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// This file holds the parts of orders that depend on the daemon's configuration.

const scanPath = "/rest/db/scan"

// Scans returns the paths of the requests that scan one folder or, if folder is "", all folders that are not paused.
// If some folders are paused, each other folder gets a request, because a daemon answers a request to scan all folders
// with an error then.
func Scans(doc stconfig.Value, folder string) (paths []string, err error) {
	all, paused := 0, 0
	for f := range doc.Get("folders").Values() {
		id := f.Get("id").Str()
		if folder != "" && id != folder {
			continue
		}
		if all++; f.Get("paused").IsTrue() {
			paused++
			continue
		}
		paths = append(paths, scanPath+"?folder="+url.QueryEscape(id))
	}
	switch {
	case folder != "" && all == 0:
		return nil, fleet.NotFoundf("the device has no folder %q", folder)
	case all == 0:
		return nil, &fleet.Error{Code: fleet.CodeConflict, Message: "the device has no folder",
			Hint: "Have a template make one."}
	case paused == all:
		return nil, &fleet.Error{Code: fleet.CodeConflict, Message: "what is to be scanned is paused",
			Hint: "Resume the folder at the daemon, or in its template."}
	case paused == 0 && folder == "":
		return []string{scanPath}, nil
	}
	return paths, nil
}

// Pausing returns the changes that pause or resume a device's connections to all other devices.
func Pausing(doc stconfig.Value, own fleet.DeviceID, paused bool) (changes []stconfig.Change) {
	key := stconfig.Key{}.Child("devices")
	for device := range doc.Get("devices").Values() {
		id := device.Get("deviceID").Str()
		if id == string(own) || device.Get("paused").IsTrue() == paused {
			continue
		}
		changes = append(changes, stconfig.Change{Key: key.Child(id).Child("paused"), From: device.Get("paused"),
			To: stconfig.Boolean(paused)})
	}
	return changes
}
