package plan

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"

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

// folderOf returns the folder of an order.
func folderOf(doc stconfig.Value, folder string) (stconfig.Value, error) {
	for f := range doc.Get("folders").Values() {
		if f.Get("id").Str() == folder {
			return f, nil
		}
	}
	return stconfig.Value{}, fleet.NotFoundf("the device has no folder %q", folder)
}

// PausingFolder returns the changes that pause or resume one folder, and the path at which the daemon takes them. There
// are no changes if the folder is so already.
func PausingFolder(doc stconfig.Value, folder string, paused bool) (changes []stconfig.Change, path string, err error) {
	f, err := folderOf(doc, folder)
	switch {
	case err != nil || f.Get("paused").IsTrue() == paused:
		return nil, "", err
	case !reachable(folder):
		return nil, "", &fleet.Error{Code: fleet.CodeConflict,
			Message: fmt.Sprintf("the daemon takes no change of the folder %q alone, because of its ID", folder),
			Hint:    "Pause it at the daemon, or by a template."}
	}
	key := stconfig.Key{}.Child("folders").Child(folder).Child("paused")
	return []stconfig.Change{{Key: key, From: f.Get("paused"), To: stconfig.Boolean(paused)}},
		"/rest/config/folders/" + url.PathEscape(folder), nil
}

// ChangingFiles returns the path of the request that overrides or reverts a folder. It returns conflict if the folder
// has another type than the order is for, or is paused.
func ChangingFiles(doc stconfig.Value, order fleet.OrderType, folder string) (path string, err error) {
	f, err := folderOf(doc, folder)
	if err != nil {
		return "", err
	}
	kind, want, path := f.Get("type").Str(), []string{"sendonly"}, "/rest/db/override"
	if order == fleet.OrderRevert {
		want, path = []string{"receiveonly", "receiveencrypted"}, "/rest/db/revert"
	}
	switch {
	case !slices.Contains(want, kind):
		return "", &fleet.Error{Code: fleet.CodeConflict,
			Message: fmt.Sprintf("the folder %q is %s on the device, and %s is for %s", folder, kind, order, want[0]),
			Hint:    "Nothing was changed. The folder's type is in its template, or in the daemon's own GUI."}
	case f.Get("paused").IsTrue():
		return "", &fleet.Error{Code: fleet.CodeConflict, Message: fmt.Sprintf("the folder %q is paused", folder),
			Hint: "Resume it first, and look what it lacks then."}
	}
	return path + "?folder=" + url.QueryEscape(folder), nil
}

// MayChangeFiles returns conflict unless an override or a revert can rely on what the daemon says of the folder. A
// daemon that has not scanned a folder, or whose disk is away, counts everything as missing: its override would delete
// the files of all other devices.
func MayChangeFiles(order fleet.OrderType, folder string, s fleet.FolderSummary) error {
	why, hint := "", "Give the order anew when the folder is idle."
	switch {
	case s.InError():
		why, hint = "cannot be synced, or not all of it: "+s.Problem(), "Mend that first, and give the order anew."
	case s.Unscanned():
		why, hint = "was not scanned since the daemon started", "Rescan it, and give the order anew."
	case s.State != "idle":
		why = "is busy: " + cmp.Or(s.State, "its state is not known")
	case order == fleet.OrderOverride && (s.Sequence <= 0 || localItems(s) == 0):
		why = "is empty on the device: an override would delete it everywhere"
		hint = "Look at the folder's path on the device. To delete all files, delete them on another device."
	default:
		return nil
	}
	return &fleet.Error{Code: fleet.CodeConflict, Hint: hint,
		Message: fmt.Sprintf("the folder %q %s; the daemon was told nothing", folder, why)}
}

// DeletedByOverride returns how many items an override deletes on the other devices at most: those that the device does
// not have. known is false if the figures do not say it, because the folder ignores items.
func DeletedByOverride(s fleet.FolderSummary) (items int64, known bool) {
	missing := s.NeedFiles + s.NeedDirectories + s.NeedSymlinks
	global := s.GlobalFiles + s.GlobalDirectories + s.GlobalSymlinks
	return max(0, min(missing, global-localItems(s)+s.NeedDeletes)), !s.IgnorePatterns
}

func localItems(s fleet.FolderSummary) int64 {
	return s.LocalFiles + s.LocalDirectories + s.LocalSymlinks
}
