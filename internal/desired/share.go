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
)

// share makes devices and the share lists of folders agree, as the daemon would do silently: a registered device that a
// folder is shared with is brought along, an unknown one is an error, and a device that a template removes leaves the
// folders that nobody but the base shares with it.
func (f *fold) share() (map[fleet.DeviceID]bool, error) {
	implied := map[fleet.DeviceID]bool{}
	known := idsIn(f.doc.Get("devices"))
	known[string(f.Device)] = true
	var along []stconfig.Value
	for folder := range f.doc.Get("folders").Values() {
		shares := folders.Child(folder.Get("id").Str()).Child("devices")
		var before map[string]bool // of the base; made when it is needed
		for share := range folder.Get("devices").Values() {
			id := share.Get("deviceID").Str()
			if known[id] {
				continue
			}
			if before == nil {
				before = idsIn(stconfig.Lookup(f.base, shares))
			}
			if before[id] {
				f.drop(shares.Child(id), devices.Child(id))
				continue
			}
			label, err := f.labelOf(fleet.DeviceID(id), shares.Child(id))
			if err != nil {
				return nil, err
			}
			known[id], implied[fleet.DeviceID(id)] = true, true
			along = append(along, f.broughtAlong(fleet.DeviceID(id), label))
		}
	}
	var err error
	f.doc, err = f.add(f.doc, along)
	f.askForImplied(implied)
	return implied, err
}

// askForImplied notes who needs the devices that were brought along: one that is there because one folder needs it is
// needed by all folders that share it.
func (f *fold) askForImplied(implied map[fleet.DeviceID]bool) {
	if len(implied) == 0 {
		return
	}
	for folder := range f.doc.Get("folders").Values() {
		shares := folders.Child(folder.Get("id").Str()).Child("devices")
		for share := range folder.Get("devices").Values() {
			if id := share.Get("deviceID").Str(); implied[fleet.DeviceID(id)] {
				f.asked = append(f.asked, asked{key: devices.Child(id), templates: f.askers(shares.Child(id)), implied: true})
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

// drop takes a share out because its device goes.
func (f *fold) drop(share, device stconfig.Key) {
	f.doc = stconfig.Replace(f.doc, share, stconfig.Value{})
	f.asked = append(f.asked, asked{key: share, templates: f.askers(device), with: device.String()})
}

// labelOf is the label of a registered device that a folder is shared with.
func (f *fold) labelOf(id fleet.DeviceID, share stconfig.Key) (string, error) {
	if label, registered := f.Registered[id]; registered {
		return label, nil
	}
	err := &fleet.Error{
		Code:    fleet.CodeInvalid,
		Message: fmt.Sprintf("folder %q is shared with %s, which is neither among the device's `devices` nor registered", share.At(1).Name, id),
		Hint:    "Register the device, add it to `devices` in a template, or take it out of the folder's list.",
	}
	for _, t := range f.Templates {
		if askers := f.askers(share); len(askers) > 0 && askers[len(askers)-1] == t.ID {
			return "", inTemplate(t, err)
		}
	}
	return "", err
}

// broughtAlong is the entry of a device that a folder brings along.
func (f *fold) broughtAlong(id fleet.DeviceID, label string) stconfig.Value {
	if label == "" { // then the daemon learns one
		label = stconfig.Lookup(f.Observed, devices.Child(string(id))).Get("name").Str()
	}
	return stconfig.Obj(
		stconfig.Member{Name: "deviceID", Value: stconfig.Text(string(id))},
		stconfig.Member{Name: "name", Value: stconfig.Text(label)},
		stconfig.Member{Name: "addresses", Value: stconfig.List(stconfig.Text("dynamic"))},
	)
}

// add is the document with these devices.
func (f *fold) add(doc stconfig.Value, entries []stconfig.Value) (stconfig.Value, error) {
	if len(entries) == 0 {
		return doc, nil
	}
	doc, _, err := stconfig.Apply(doc, fleet.OpAppend, devices, stconfig.List(entries...), f.Device)
	if err != nil {
		return doc, fmt.Errorf("bring devices along: %w", err)
	}
	return doc, nil
}

// keepAlong puts into the base the devices that Muster made and that a folder needs which is a person's: who took over
// a folder did not mean to lose its devices.
func (f *fold) keepAlong(entries []entry) error {
	var along []stconfig.Value
	var shared map[string]bool // by the base; made when it is needed
	for _, e := range entries {
		device := e.key.Len() == 2 && e.key.HasPrefix(devices)
		if !device || e.State != fleet.BaseOurs || stconfig.Lookup(f.base, e.key).Exists() {
			continue
		}
		if shared == nil {
			shared = sharedBy(f.base)
		}
		if !shared[e.key.At(1).Name] {
			continue
		}
		if !e.Implied && !e.written.Exists() {
			continue
		}
		if !e.Implied {
			f.base = stconfig.Replace(f.base, e.key, e.written)
			f.base = rewind(f.base, slices.DeleteFunc(slices.Clone(entries), func(inner entry) bool {
				return inner.key.Len() <= e.key.Len() || !inner.key.HasPrefix(e.key)
			}))
			continue
		}
		id := fleet.DeviceID(e.key.At(1).Name)
		label, registered := f.Registered[id]
		if !registered {
			label = e.written.Get("name").Str()
		}
		along = append(along, f.broughtAlong(id, label))
	}
	var err error
	f.base, err = f.add(f.base, along)
	return err
}

// sharedBy are the devices that any folder of a document is shared with.
func sharedBy(doc stconfig.Value) map[string]bool {
	ids := map[string]bool{}
	for folder := range doc.Get("folders").Values() {
		maps.Copy(ids, idsIn(folder.Get("devices")))
	}
	return ids
}

// fill gives members that only Muster made the fields that the daemon has added to them since: nobody named these, and
// a fixed field cannot be taken away.
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
