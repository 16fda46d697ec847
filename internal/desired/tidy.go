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
// A folder that a person ignores and a template shares is ignored again when the share goes.
func (f *fold) unignore() {
	ignored := stconfig.Key{}.Child("remoteIgnoredDevices")
	for entry := range f.doc.Get("remoteIgnoredDevices").Values() {
		id := entry.Get("deviceID").Str()
		if stconfig.Lookup(f.doc, devices.Child(id)).Exists() {
			f.leaveOut(ignored.Child(id), knownIgnored)
		}
	}
	for _, p := range sharedAndIgnored(f.doc) {
		if !f.leaveOut(p.entry, sharedIgnored) && !stconfig.Lookup(f.base, p.share).Exists() {
			f.drop(p.entry, f.comesWith(p.share))
		}
	}
}

// contradiction is a folder that is both shared with a device and ignored from it.
type contradiction struct{ entry, share stconfig.Key }

// sharedAndIgnored are the folders that a daemon would forget to ignore: the share wins, whichever came first.
func sharedAndIgnored(doc stconfig.Value) (found []contradiction) {
	for device := range doc.Get("devices").Values() {
		id := device.Get("deviceID").Str()
		for entry := range device.Get("ignoredFolders").Values() {
			folder := entry.Get("id").Str()
			share := folders.Child(folder).Child("devices").Child(id)
			if stconfig.Lookup(doc, share).Exists() {
				found = append(found, contradiction{devices.Child(id).Child("ignoredFolders").Child(folder), share})
			}
		}
	}
	return found
}

// comesWith is the change that makes a share: its own, or that of the folder which is not there yet.
func (f *fold) comesWith(share stconfig.Key) stconfig.Key {
	if folder := folders.Child(share.At(1).Name); !stconfig.Lookup(f.Observed, folder).Exists() {
		return folder
	}
	return share
}

// overruled drops the records of ignored folders that a template had taken away, and that are shared without Muster by
// now: the daemon would have forgotten them.
func overruled(records []record, base stconfig.Value) []record {
	gone := map[string]bool{}
	for _, p := range sharedAndIgnored(base) {
		gone[p.entry.String()] = true
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
// A share that was there goes together with the mark that a template sets, where the daemon takes it away.
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
		if !f.leaveOut(shares.Child(id), untrustedShare) && f.changed(mark) && stconfig.UnsharesUntrusted(f.Observed) {
			f.drop(shares.Child(id), mark)
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
