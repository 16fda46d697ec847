package plan

import (
	"cmp"
	"slices"
	"strings"

	"muster/internal/core/stconfig"
)

// The ranks are the order in which changes are sent. A device or folder is made before other entries name it, and
// removed after the last entry that names it. `gui` comes last because the daemon then restarts its API.
const (
	rankDevices = iota
	rankOptions
	rankLDAP
	rankDefaults
	rankFolders
	rankIgnores
	rankResumed
	rankOther
	rankFoldersGone
	rankIgnoredFolders // A daemon ignores only folders that are not shared.
	rankDevicesGone
	rankIgnored // A daemon ignores only devices that it does not know.
	rankGUI
)

func rank(c Change) int {
	if c.resumes {
		return rankResumed
	}
	gone := c.Key.Len() == 2 && !c.To.Exists()
	switch section(c.Key) {
	case "devices":
		switch {
		case gone:
			return rankDevicesGone
		case ignoresFolder(c):
			return rankIgnoredFolders
		}
		return rankDevices
	case "options":
		return rankOptions
	case "ldap":
		return rankLDAP
	case "defaults":
		return rankDefaults
	case "folders":
		if gone {
			return rankFoldersGone
		}
		return rankFolders
	case "ignores":
		return rankIgnores
	case "remoteignoreddevices":
		switch {
		case !gone:
			return rankIgnored
		case c.with != "": // The daemon drops the ignore entry by itself when the device is added: one write does both.
			return rankDevices
		}
	case "gui":
		return rankGUI
	}
	return rankOther
}

// ignoresFolder reports whether a change makes a daemon ignore a folder of another device.
func ignoresFolder(c Change) bool {
	return c.To.Exists() && c.Key.Len() == 4 && isKey(c.Key, "devices", c.Key.At(1).Name, "ignoredFolders",
		c.Key.At(3).Name)
}

func compareChanges(a, b Change) int {
	return cmp.Or(cmp.Compare(rank(a), rank(b)), a.Key.Compare(b.Key))
}

// BuildsOn reports whether the write must not be sent because the daemon refused to write one of these keys. Folders
// need their devices, ignore patterns need their folder, and the resume of a folder needs its patterns. A removal
// waits if anything was refused.
func (w Write) BuildsOn(refused []stconfig.Key) bool {
	for _, key := range w.Keys {
		for _, other := range refused {
			resumes := orderOf(other) == orderOfIgnores && orderOf(key) == orderOfIgnores-1 && other.At(1) == key.At(1)
			if orderOf(other) < orderOf(key) || resumes {
				return true
			}
		}
	}
	return false
}

var orderOfIgnores = orderOf(stconfig.Key{}.Child("ignores"))

func orderOf(key stconfig.Key) int {
	return slices.Index([]string{"", "devices", "folders", "ignores"}, strings.ToLower(key.At(0).Name))
}
