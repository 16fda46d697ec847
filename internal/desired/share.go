package desired

import (
	"fmt"
	"maps"
	"slices"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

var (
	folders = stconfig.Key{}.Child("folders")
	devices = stconfig.Key{}.Child("devices")
	ignores = stconfig.Key{}.Child("ignores")

	ignoredDevices = stconfig.Key{}.Child("remoteIgnoredDevices")
)

// nameDevices notes what the template that was just folded says of devices: one that it names is there because of it,
// one that it removes is not brought along by those before it.
func (f *fold) nameDevices(changes []stconfig.Change) {
	last := len(f.laid) - 1
	l := f.laid[last]
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
		f.asked = append(f.asked, asked{key: devices.Child(string(id)), templates: []int64{l.template.ID}})
	}
}

func (f *fold) revoke(id fleet.DeviceID, step int) {
	f.revoked[id] = step
	delete(f.implied, id)
}

func isDevice(key stconfig.Key) bool { return key.Len() == 2 && key.HasPrefix(devices) }

// placeInFolder is one share: a device in a folder's list.
type placeInFolder struct {
	key stconfig.Key
	id  fleet.DeviceID
}

// strangers are the shares with devices that the document does not have.
func (f *fold) strangers() []placeInFolder {
	known := idsIn(f.doc.Get("devices"))
	known[string(f.Device)] = true
	var found []placeInFolder
	for folder := range f.doc.Get("folders").Values() {
		shares := folders.Child(folder.Get("id").Str()).Child("devices")
		for share := range folder.Get("devices").Values() {
			if id := share.Get("deviceID").Str(); !known[id] {
				found = append(found, placeInFolder{shares.Child(id), fleet.DeviceID(id)})
			}
		}
	}
	return found
}

// bringAlong adds the registered devices that folders are shared with, after each template: those that come later see
// them in the configuration. One that a template removed is not brought along again.
func (f *fold) bringAlong() error {
	var along []stconfig.Value
	for _, s := range f.strangers() {
		_, registered := f.registered(s.id)
		_, revoked := f.revoked[s.id]
		if wanted := registered && !f.isBase(s) || f.isPersons(s); wanted && !revoked && !f.implied[s.id] {
			f.implied[s.id] = true
			along = append(along, implied(s.id))
		}
	}
	return f.add(along)
}

// isBase tells a share that is there without Muster.
func (f *fold) isBase(s placeInFolder) bool { return stconfig.Lookup(f.base, s.key).Exists() }

// isPersons tells a share of a person's, or of the daemon's, with a device that is there because Muster made it.
func (f *fold) isPersons(s placeInFolder) bool {
	if stconfig.Lookup(f.base, devices.Child(string(s.id))).Exists() {
		return false
	}
	isShare := func(e entry) bool { return e.key.Equal(s.key) }
	return f.isBase(s) || slices.ContainsFunc(f.records, func(r record) bool {
		return r.Kind == fleet.BaseMade && slices.ContainsFunc(r.inner, isShare)
	})
}

// unsharedBy takes a share out because a template removed its device. A template that comes later and shares the
// folder with it all the same contradicts that one.
func (f *fold) unsharedBy(s placeInFolder, removed int) {
	for _, l := range slices.Backward(f.laid[removed+1:]) {
		if l.target.op == fleet.OpRemove || !l.names(s.key) {
			continue
		}
		f.doc = stconfig.Replace(f.doc, s.key, stconfig.Value{})
		f.skipped = append(f.skipped, Skipped{Template: l.template.ID, Key: s.key, Reason: fmt.Sprintf(
			"%s shares the folder with the device, and %s removes the device: take it out of one of them",
			named(l.template), named(f.laid[removed].template))})
		return
	}
	f.drop(s.key, devices.Child(string(s.id)))
}

// share is bringAlong once all templates are folded: what is still not known is an error, and what is not needed goes.
func (f *fold) share() error {
	if err := f.bringAlong(); err != nil {
		return err
	}
	for _, s := range f.strangers() {
		switch removed, revoked := f.revoked[s.id]; {
		case revoked:
			f.unsharedBy(s, removed)
		case f.isBase(s):
			f.drop(s.key, devices.Child(string(s.id)))
		default:
			return f.unknown(s)
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

// askForImplied notes who needs the devices that were brought along: one that is there because one folder needs it is
// needed by all folders that share it.
func (f *fold) askForImplied() {
	if len(f.implied) == 0 {
		return
	}
	for folder := range f.doc.Get("folders").Values() {
		shares := folders.Child(folder.Get("id").Str()).Child("devices")
		for share := range folder.Get("devices").Values() {
			if id := share.Get("deviceID").Str(); f.implied[fleet.DeviceID(id)] {
				needs := asked{key: devices.Child(id), templates: f.askers(shares.Child(id)), implied: true}
				f.asked = append(f.asked, needs)
			}
		}
	}
}

// idsIn are the devices that a list names.
func idsIn(list stconfig.Value) map[string]bool {
	ids := make(map[string]bool, list.Len())
	for member := range list.Values() {
		ids[member.Get("deviceID").Str()] = true
	}
	return ids
}

// drop takes a member out because of another change: the share with a device that goes, or an ignored folder or device
// that is shared, or there.
func (f *fold) drop(member, with stconfig.Key) {
	f.doc = stconfig.Replace(f.doc, member, stconfig.Value{})
	f.asked = append(f.asked, asked{key: member, templates: f.askers(with), with: with.String()})
}

// unknown says that a folder is shared with a device that is neither known nor registered.
func (f *fold) unknown(s placeInFolder) error {
	err := &fleet.Error{
		Code: fleet.CodeInvalid,
		Message: fmt.Sprintf("folder %q is shared with %s, which is neither among the device's `devices` nor registered",
			s.key.At(1).Name, s.id),
		Hint: "Register the device, add it to `devices` in a template, or take it out of the folder's list.",
	}
	for _, t := range f.Templates {
		if askers := f.askers(s.key); len(askers) > 0 && askers[len(askers)-1] == t.ID {
			return inTemplate(t, err)
		}
	}
	return err
}

// implied is the entry of a device that a folder brings along; its name is what start says.
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

// fill gives members that only Muster made the fields that the daemon has added to them since: no template named
// these, and a fixed field cannot be taken away.
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

// identity names what the members of a list are told apart by.
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

// isFree tells the object whose entries come and go: `versioning.params`.
func isFree(name string) bool { return name == "params" }
