package desired

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

var (
	folders = stconfig.Key{}.Child("folders")
	devices = stconfig.Key{}.Child("devices")
	ignores = stconfig.Key{}.Child("ignores")

	ignoredDevices = stconfig.Key{}.Child("remoteIgnoredDevices")
)

// nameDevices records which devices the template folded last names. changes are what that template changed. A device
// that the template names is no longer implied. A device that the template removes is not added again because an
// earlier template shares a folder with it.
func (f *fold) nameDevices(changes []stconfig.Change) {
	last := len(f.applied) - 1
	l := f.applied[last]
	if l.target.op == fleet.OpRemove {
		for _, id := range devicesIn(l.target.key, l.value) {
			f.revoke(id, last)
		}
		for _, c := range changes {
			if isDevice(c.Key) {
				f.revoke(fleet.DeviceID(c.Key.At(1).Name), last)
			}
		}
		return
	}
	for _, id := range devicesIn(l.target.key, l.value) {
		delete(f.implied, id)
		delete(f.revoked, id)
		f.requests = append(f.requests, request{key: devices.Child(string(id)), templates: []int64{l.template.ID}})
	}
}

func (f *fold) revoke(id fleet.DeviceID, step int) {
	f.revoked[id] = step
	delete(f.implied, id)
}

func isDevice(key stconfig.Key) bool { return key.Len() == 2 && key.HasPrefix(devices) }

// shareOf is one share: a device in a folder's list.
type shareOf struct {
	key stconfig.Key
	id  fleet.DeviceID
}

// unknownShares returns the shares with devices that the document does not have.
func (f *fold) unknownShares() []shareOf {
	known := idsIn(f.doc.Get("devices"))
	known[string(f.Device)] = true
	var found []shareOf
	for folder := range f.doc.Get("folders").Values() {
		shares := folders.Child(folder.Get("id").Str()).Child("devices")
		for share := range folder.Get("devices").Values() {
			if id := share.Get("deviceID").Str(); !known[id] {
				found = append(found, shareOf{shares.Child(id), fleet.DeviceID(id)})
			}
		}
	}
	return found
}

// addImplied runs after each template and adds devices that folders are shared with and that the document lacks, so
// that later templates see them in `config`. It adds a registered device unless the share is part of the base, and any
// device whose share isPersons reports. It adds no device that a template removed.
func (f *fold) addImplied() error {
	var along []stconfig.Value
	for _, s := range f.unknownShares() {
		_, registered := f.registered(s.id)
		_, revoked := f.revoked[s.id]
		if wanted := registered && !f.isBase(s) || f.isPersons(s); wanted && !revoked && !f.implied[s.id] {
			f.implied[s.id] = true
			along = append(along, implied(s.id))
		}
	}
	return f.add(along)
}

// isBase reports whether the base has the share: the folder would be shared with the device without Muster, too.
func (f *fold) isBase(s shareOf) bool { return stconfig.Lookup(f.base, s.key).Exists() }

// isPersons reports whether a person or the daemon made the share, and the base does not have the share's device: the
// device was there only because Muster made it.
func (f *fold) isPersons(s shareOf) bool {
	if stconfig.Lookup(f.base, devices.Child(string(s.id))).Exists() {
		return false
	}
	isShare := func(e entry) bool { return e.key.Equal(s.key) }
	return f.isBase(s) || slices.ContainsFunc(f.records, func(r record) bool {
		return r.Kind == fleet.BaseMade && slices.ContainsFunc(r.inner, isShare)
	})
}

// unshareRemoved takes out a share whose device was removed by the template at position removed of the fold. If a
// later template shares the folder with that device, the two templates contradict each other: then the share is
// reported as skipped, in the name of the later one.
func (f *fold) unshareRemoved(s shareOf, removed int) {
	for _, l := range slices.Backward(f.applied[removed+1:]) {
		if l.target.op == fleet.OpRemove || !l.names(s.key) {
			continue
		}
		f.doc = stconfig.Replace(f.doc, s.key, stconfig.Value{})
		f.skipped = append(f.skipped, Skipped{Template: l.template.ID, Key: s.key, Reason: fmt.Sprintf(
			"%s shares the folder with the device, and %s removes the device: take it out of one of them",
			named(l.template), named(f.applied[removed].template))})
		return
	}
	f.drop(s.key, devices.Child(string(s.id)))
}

// share finishes the shares after all templates: it adds implied devices, refuses unknown devices, and takes out
// implied devices that no folder needs.
func (f *fold) share() error {
	if err := f.addImplied(); err != nil {
		return err
	}
	for _, s := range f.unknownShares() {
		switch removed, revoked := f.revoked[s.id]; {
		case revoked:
			f.unshareRemoved(s, removed)
		case f.isBase(s):
			f.drop(s.key, devices.Child(string(s.id)))
		default:
			return f.unknownDevice(s)
		}
	}
	shared := map[string]bool{}
	for folder := range f.doc.Get("folders").Values() {
		maps.Copy(shared, idsIn(folder.Get("devices")))
	}
	for id := range f.implied {
		if !shared[string(id)] {
			f.doc = stconfig.Replace(f.doc, devices.Child(string(id)), stconfig.Value{})
			delete(f.implied, id)
		}
	}
	f.askForImplied()
	return nil
}

// askForImplied records which templates need the implied devices: all that share a folder with them.
func (f *fold) askForImplied() {
	if len(f.implied) == 0 {
		return
	}
	for folder := range f.doc.Get("folders").Values() {
		shares := folders.Child(folder.Get("id").Str()).Child("devices")
		for share := range folder.Get("devices").Values() {
			if id := share.Get("deviceID").Str(); f.implied[fleet.DeviceID(id)] {
				needs := request{key: devices.Child(id), templates: f.requestedBy(shares.Child(id)), implied: true}
				f.requests = append(f.requests, needs)
			}
		}
	}
}

// idsIn returns the device IDs in a list.
func idsIn(list stconfig.Value) map[string]bool {
	ids := make(map[string]bool, list.Len())
	for member := range list.Values() {
		ids[member.Get("deviceID").Str()] = true
	}
	return ids
}

// drop removes a member because of another change, `with`, and records that the two go together: a share goes with
// its device, an ignore entry goes when its device or share comes.
func (f *fold) drop(member, with stconfig.Key) {
	f.doc = stconfig.Replace(f.doc, member, stconfig.Value{})
	f.requests = append(f.requests, request{key: member, templates: f.requestedBy(with), with: with.String()})
}

// unknownDevice returns the error about a folder that is shared with a device which is neither in `devices` nor
// registered.
func (f *fold) unknownDevice(s shareOf) error {
	err := &fleet.Error{
		Code: fleet.CodeInvalid,
		Message: fmt.Sprintf("folder %q is shared with %s, which is neither among the device's `devices` nor registered",
			s.key.At(1).Name, s.id),
		Hint: "Register the device, add it to `devices` in a template, or take it out of the folder's list.",
	}
	for _, t := range f.Templates {
		if askers := f.requestedBy(s.key); len(askers) > 0 && askers[len(askers)-1] == t.ID {
			return inTemplate(t, err)
		}
	}
	return err
}

// implied returns the entry of an implied device for the list of devices. It has no name; start adds the name.
func implied(id fleet.DeviceID) stconfig.Value {
	return stconfig.Obj(
		stconfig.Member{Name: "deviceID", Value: stconfig.Text(string(id))},
		stconfig.Member{Name: "addresses", Value: stconfig.List(stconfig.Text("dynamic"))},
	)
}

// add puts devices into the document.
func (f *fold) add(entries []stconfig.Value) (err error) {
	if len(entries) == 0 {
		return nil
	}
	along := stconfig.Application{Op: fleet.OpAppend, Key: devices, Value: stconfig.List(entries...), Own: f.Device,
		From: f.start, Budget: &f.budget}
	f.doc, _, err = along.To(f.doc)
	if err != nil {
		return fmt.Errorf("bring devices along: %w", err)
	}
	return nil
}

// devicesIn returns the members of `devices` that a template with this key and value names.
func devicesIn(key stconfig.Key, value stconfig.Value) []fleet.DeviceID {
	switch {
	case key.IsRoot():
		value = value.Get("devices")
	case !strings.EqualFold(key.At(0).Name, "devices") || key.Len() > 2:
		return nil
	case key.Len() == 2:
		if key.At(1).Every {
			return nil
		}
		return []fleet.DeviceID{fleet.DeviceID(key.At(1).Name)}
	}
	if value.Kind() != stconfig.Array {
		value = stconfig.List(value)
	}
	var ids []fleet.DeviceID
	for member := range value.Values() {
		if member.Kind() == stconfig.Object {
			member = member.Get("deviceID")
		}
		if id, err := fleet.ParseDeviceID(member.Str()); err == nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// MayShare reports whether a template may share a folder with devices. The result of such a template depends on which
// devices are registered, and on their labels.
func MayShare(t fleet.Template) bool {
	key, err := stconfig.ParseKey(t.Key)
	if err != nil || key.IsRoot() {
		return t.Reads.OrAll().Sharing
	}
	for i := range key.Len() {
		if strings.EqualFold(key.At(i).Name, "devices") {
			return true
		}
	}
	switch section := strings.ToLower(key.At(0).Name); section {
	case "folders", "defaults", "*":
		return t.Reads.OrAll().Sharing
	}
	return false
}
