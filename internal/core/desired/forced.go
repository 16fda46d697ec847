package desired

import (
	"fmt"
	"slices"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// force puts into the document the values that the daemon forces there (stconfig.Forces), because the read-back would
// otherwise always differ. It reports as skipped each value of a template that is overridden in this way. If the
// daemon now shows the desired value although our table says that it would override it, force leaves the value alone.
func (f *fold) force() {
	for _, forced := range stconfig.Forces(f.doc) {
		stays := f.daemonKeeps(forced.By)
		if stays && f.daemonKeeps(forced.Key) {
			continue
		}
		if stconfig.IsNotices(forced.Key) && len(f.requestedBy(forced.Key)) == 0 {
			continue // No template asks for notices: the daemon changes them with the user or password.
		}
		f.skipOverridden(forced)
		f.doc = stconfig.Replace(f.doc, forced.Key, forced.Keep)
		if !stays && !forced.By.Equal(forced.Key) && stconfig.Lookup(f.Observed, forced.Key).Exists() {
			f.requests = append(
				f.requests,
				request{key: forced.Key, templates: f.requestedBy(forced.By), with: forced.By.String()},
			)
		}
	}
}

// daemonKeeps reports whether the daemon shows the desired value at a key.
func (f *fold) daemonKeeps(key stconfig.Key) bool {
	now := stconfig.Lookup(f.Observed, key)
	return now.Exists() && now.Equal(stconfig.Lookup(f.doc, key))
}

// skipOverridden reports as skipped a value that the daemon does not keep. The report names the last template that
// asks for the value. A value for which no template asks is not reported.
func (f *fold) skipOverridden(forced stconfig.Forced) {
	alone := forced.By.Equal(forced.Key)
	for i := len(f.requests) - 1; i >= 0; i-- {
		a := f.requests[i]
		if len(a.templates) == 0 || !a.key.HasPrefix(forced.Key) && !(alone && forced.Key.HasPrefix(a.key)) {
			continue
		}
		f.skipped = append(f.skipped, Skipped{Template: a.templates[len(a.templates)-1], Key: forced.Key,
			Reason: fmt.Sprintf("the daemon overrides it and keeps %s: %s", forced.Keep.JSON(), forced.Why)})
		return
	}
}

// A daemon silently drops entries that contradict each other (Syncthing, lib/config, prepare). If a template makes
// such an entry, the fold leaves it out and reports it, because otherwise every read-back would lack it. If a person
// made the entry, the fold leaves it to the daemon.

const (
	untrustedShare = "the device is marked untrusted: a folder is shared with it only with an encryptionPassword"
	knownIgnored   = "the device is among `devices`: a daemon ignores only devices that it does not know"
	sharedIgnored  = "the folder is shared with the device: a daemon ignores only folders that are not"
)

// unshare takes unencrypted shares with untrusted devices out of the document. A share that a template made is
// reported as skipped; of the other shares only those are taken out that the daemon itself drops (see
// unshareUntrusted). Folders of type receiveencrypted stay as they are.
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

// unignore takes out entries that ignore a device or folder although the document has this device, or shares this
// folder (see contradiction). It takes out an entry that a template made, and any entry if the device or share is
// there only because of Muster. The base keeps an entry that a person made, so the entry returns when the device or
// share of Muster goes away.
func (f *fold) unignore() {
	for _, c := range contradictions(f.doc) {
		if f.leaveOut(c.entry, c.reason) || !stconfig.Lookup(f.base, c.member).Exists() {
			f.drop(c.entry, f.comesWith(c.member))
		}
	}
}

// contradiction is an entry that tells the daemon to ignore a device or folder, together with the member that makes
// the daemon drop this entry: the ignored device itself, or the share of the ignored folder. The member wins,
// whichever of the two came first.
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

// comesWith returns the key of the change by which a member is added: the member's own key, or that of its folder when
// the folder is new.
func (f *fold) comesWith(member stconfig.Key) stconfig.Key {
	if folder := folders.Child(member.At(1).Name); isShare(member) && !stconfig.Lookup(f.Observed, folder).Exists() {
		return folder
	}
	return member
}

// withoutForgottenIgnores drops the record of an ignore entry that Muster removed, if the base has the ignored device,
// or shares the ignored folder with that device. Without Muster the daemon would have dropped the entry, too, so
// Muster must not put it back.
func withoutForgottenIgnores(records []record, base stconfig.Value) []record {
	gone := map[string]bool{}
	for _, c := range contradictions(base) {
		gone[c.entry.String()] = true
	}
	return slices.DeleteFunc(records, func(r record) bool { return r.Kind == fleet.BaseRemoved && gone[r.key.String()] })
}

// untrusted returns the devices other than this one that are marked untrusted in the document.
func (f *fold) untrusted() map[string]bool {
	marked := map[string]bool{}
	for device := range f.doc.Get("devices").Values() {
		if id := device.Get("deviceID").Str(); device.Get("untrusted").IsTrue() && id != string(f.Device) {
			marked[id] = true
		}
	}
	return marked
}

// unshareUntrusted takes out those unencrypted shares of one folder whose device is marked untrusted. A share that a
// template made is reported as skipped. Any other share is taken out only if daemons of this version drop such shares
// by themselves: together with the mark if a template sets the mark, else only if the daemon does not have the share
// now.
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

// leaveOut removes a member that a template made from the document, and reports it as skipped. It returns false when
// no template made the member.
func (f *fold) leaveOut(key stconfig.Key, reason string) bool {
	if stconfig.Lookup(f.base, key).Exists() {
		return false
	}
	askers := f.requestedBy(key)
	if len(askers) == 0 {
		return false
	}
	f.doc = stconfig.Replace(f.doc, key, stconfig.Value{})
	f.skipped = append(f.skipped, Skipped{Template: askers[len(askers)-1], Key: key, Reason: reason})
	return true
}

// changed reports whether a template changed the value at a key.
func (f *fold) changed(key stconfig.Key) bool {
	return slices.ContainsFunc(f.requests, func(a request) bool { return related(a.key, key) }) &&
		!stconfig.Lookup(f.base, key).Equal(stconfig.Lookup(f.doc, key))
}

// fill copies, into members that Muster made, the fields that the daemon has added to them since. No template named
// these fields, and a field of a fixed name cannot be removed at the daemon.
func (f *fold) fill() {
	for _, list := range []stconfig.Key{folders, devices} {
		name := list.At(0).Name
		for member := range f.doc.Get(name).Values() {
			key := list.Child(member.Get(identity[name]).Str())
			now := stconfig.Lookup(f.Observed, key)
			if !now.Exists() || stconfig.Lookup(f.base, key).Exists() && name != "folders" {
				continue
			}
			filled := member
			if !stconfig.Lookup(f.base, key).Exists() {
				filled = fillObject(member, now)
			} else if !member.Get("devices").Equal(now.Get("devices")) {
				filled = member.With("devices", fillShares(member.Get("devices"), now.Get("devices")))
			}
			if !filled.Equal(member) {
				f.doc = stconfig.Replace(f.doc, key, filled)
			}
		}
	}
}

// identity has, by the name of a list, the name of the field with the ID of a member.
var identity = map[string]string{"folders": "id", "devices": "deviceID"}

func fillObject(v, now stconfig.Value) stconfig.Value {
	for name, there := range now.Members() {
		mine := v.Get(name)
		switch {
		case !mine.Exists():
			v = v.With(name, there)
		case name == "devices" && mine.Kind() == stconfig.Array:
			v = v.With(name, fillShares(mine, there))
		case mine.Kind() == stconfig.Object && there.Kind() == stconfig.Object && !isFree(name):
			v = v.With(name, fillObject(mine, there))
		}
	}
	return v
}

func fillShares(mine, there stconfig.Value) stconfig.Value {
	now := map[string]stconfig.Value{}
	for share := range there.Values() {
		now[share.Get("deviceID").Str()] = share
	}
	var filled []stconfig.Value
	for share := range mine.Values() {
		if other, ok := now[share.Get("deviceID").Str()]; ok {
			share = fillObject(share, other)
		}
		filled = append(filled, share)
	}
	return stconfig.List(filled...)
}

// isFree reports whether entries of this object may come and go. That is so for `versioning.params` only.
func isFree(name string) bool { return name == "params" }
