package desired

import (
	"slices"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// A daemon drops silently what contradicts itself (lib/config, prepare). What templates ask for of that kind is left
// out and said: sent, it would be missing in what is read back, again and again. What a person made of that kind is
// theirs.

const (
	untrustedShare = "the device is marked untrusted: a folder is shared with it only with an encryptionPassword"
	knownIgnored   = "the device is among `devices`: a daemon ignores only devices that it does not know"
	sharedIgnored  = "the folder is shared with the device: a daemon ignores only folders that are not"
)

// unshare leaves out shares in clear with devices that are marked untrusted.
func (f *fold) unshare() {
	untrusted := f.untrusted()
	if len(untrusted) == 0 {
		return
	}
	for folder := range f.doc.Get("folders").Values() {
		if folder.Get("type").Str() != "receiveencrypted" {
			f.unshareUntrusted(folder, untrusted)
		}
	}
}

// unignore leaves out what is ignored of devices and folders that are there, those that were brought along included.
// What a person ignores, and templates bring there, is ignored again when it goes.
func (f *fold) unignore() {
	for _, c := range contradictions(f.doc) {
		if f.leaveOut(c.entry, c.reason) || !stconfig.Lookup(f.base, c.member).Exists() {
			f.drop(c.entry, f.comesWith(c.member))
		}
	}
}

// contradiction is an entry of what is ignored that a daemon forgets because of a member that is there: the device, or
// the share of the folder with the device. The member wins, whichever came first.
type contradiction struct {
	entry, member stconfig.Key
	reason        string
}

func contradictions(doc stconfig.Value) (found []contradiction) {
	add := func(c contradiction) {
		if stconfig.Lookup(doc, c.member).Exists() {
			found = append(found, c)
		}
	}
	for entry := range doc.Get("remoteIgnoredDevices").Values() {
		id := entry.Get("deviceID").Str()
		add(contradiction{ignoredDevices.Child(id), devices.Child(id), knownIgnored})
	}
	for device := range doc.Get("devices").Values() {
		id := device.Get("deviceID").Str()
		for entry := range device.Get("ignoredFolders").Values() {
			folder := entry.Get("id").Str()
			add(contradiction{devices.Child(id).Child("ignoredFolders").Child(folder),
				folders.Child(folder).Child("devices").Child(id), sharedIgnored})
		}
	}
	return found
}

// comesWith is the change that makes a member: its own, or that of the folder which is not there yet.
func (f *fold) comesWith(member stconfig.Key) stconfig.Key {
	if folder := folders.Child(member.At(1).Name); isShare(member) && !stconfig.Lookup(f.Observed, folder).Exists() {
		return folder
	}
	return member
}

// overruled drops the records of what was ignored and a template had taken away, where the device or the share is there
// without Muster by now: the daemon would have forgotten it.
func overruled(records []record, base stconfig.Value) []record {
	gone := map[string]bool{}
	for _, c := range contradictions(base) {
		gone[c.entry.String()] = true
	}
	return slices.DeleteFunc(records, func(r record) bool { return r.Kind == fleet.BaseRemoved && gone[r.key.String()] })
}

// untrusted are the other devices that are marked so.
func (f *fold) untrusted() map[string]bool {
	marked := map[string]bool{}
	for device := range f.doc.Get("devices").Values() {
		if id := device.Get("deviceID").Str(); device.Get("untrusted").IsTrue() && id != string(f.Device) {
			marked[id] = true
		}
	}
	return marked
}

// unshareUntrusted does so in a folder that is not encrypted itself.
// Where the daemon takes such shares away, one that is there goes together with the mark that a template sets, and one
// that is not there does not come back before the mark is gone.
func (f *fold) unshareUntrusted(folder stconfig.Value, untrusted map[string]bool) {
	shares := folders.Child(folder.Get("id").Str()).Child("devices")
	for share := range folder.Get("devices").Values() {
		id := share.Get("deviceID").Str()
		password := share.Get("encryptionPassword")
		inClear := password.Kind() == stconfig.String && password.Str() == ""
		if !inClear || !untrusted[id] {
			continue
		}
		mark := devices.Child(id).Child("untrusted")
		switch {
		case f.leaveOut(shares.Child(id), untrustedShare), !stconfig.UnsharesUntrusted(f.Observed):
		case f.changed(mark):
			f.drop(shares.Child(id), mark)
		case !stconfig.Lookup(f.Observed, shares.Child(id)).Exists():
			f.doc = stconfig.Replace(f.doc, shares.Child(id), stconfig.Value{})
		}
	}
}

// leaveOut takes a member out of the document that templates put there, and says so.
func (f *fold) leaveOut(key stconfig.Key, reason string) bool {
	if stconfig.Lookup(f.base, key).Exists() {
		return false
	}
	askers := f.askers(key)
	if len(askers) == 0 {
		return false
	}
	f.doc = stconfig.Replace(f.doc, key, stconfig.Value{})
	f.skipped = append(f.skipped, Skipped{Template: askers[len(askers)-1], Key: key, Reason: reason})
	return true
}

// changed tells whether a template made what is at a key another than it was.
func (f *fold) changed(key stconfig.Key) bool {
	return slices.ContainsFunc(f.asked, func(a asked) bool { return related(a.key, key) }) &&
		!stconfig.Lookup(f.base, key).Equal(stconfig.Lookup(f.doc, key))
}
