package model_test

import (
	"fmt"
	"maps"
	"strings"

	"muster/internal/fleet"
)

// The devices of all sequences. The first two are registered.
var (
	nora    = fleet.DeviceIDOf([32]byte{1})
	olga    = fleet.DeviceIDOf([32]byte{2})
	otto    = fleet.DeviceIDOf([32]byte{3})
	storage = fleet.DeviceIDOf([32]byte{4})
)

var registered = map[string]string{string(nora): nora.Short(), string(olga): olga.Short()} // by label

// fold is rule 5: what templates make of the base, in the order of their priorities.
type fold struct {
	base     flat
	defaults map[string]string // of the leaves of folders and devices, as "folders.label"
	unshares bool              // the daemon takes shares in clear from devices that are marked untrusted
	doc      flat
	along    map[string]bool // devices that are there because a folder is shared with them
	revoked  map[string]bool // devices that a template removed
	asked    map[string]bool // places that a template says something of
}

func newFold(base flat, defaults map[string]string, unshares bool) *fold {
	f := &fold{base: base, defaults: defaults, unshares: unshares, doc: flat{}, along: map[string]bool{},
		revoked: map[string]bool{}, asked: map[string]bool{}}
	for place, value := range base { // what people set in a member that Muster made counts where that is made
		if parent(place) == "" || base[parent(place)] != "" {
			f.doc[place] = value
		}
	}
	return f
}

// leaf sets a leaf of what is there.
func (f *fold) leaf(place, value string) {
	if p := parent(place); p != "" && f.doc[p] == "" {
		return
	}
	f.asked[place] = true
	f.doc[place] = value
}

// everyFolder sets a leaf of all folders that are there.
func (f *fold) everyFolder(name, value string) {
	for place := range maps.Clone(f.doc) {
		if isMember(place) && strings.Count(place, ".") == 1 && strings.HasPrefix(place, "folders.") {
			f.leaf(place+"."+name, value)
		}
	}
}

// member makes a folder or device, unless it is there: with the defaults, and what people set in it.
func (f *fold) member(place string) {
	f.asked[place] = true
	if f.doc[place] != "" {
		return
	}
	list, id, _ := strings.Cut(place, ".")
	f.doc[place] = there
	for at, value := range f.defaults {
		if name, ok := strings.CutPrefix(at, list+"."); ok {
			f.doc[place+"."+name] = value
		}
	}
	if label := registered[id]; list == "devices" && label != "" {
		f.doc[place+".name"] = text(label)
	}
	if f.base[place] == "" {
		for at, value := range f.base {
			if within(at, place) {
				f.doc[at] = value
			}
		}
	}
}

func (f *fold) share(folder string, id fleet.DeviceID) {
	if f.doc["folders."+folder] != "" {
		f.asked[shareOf(folder, id)] = true
		f.doc[shareOf(folder, id)] = there
	}
}

func (f *fold) device(id fleet.DeviceID) {
	f.member("devices." + string(id))
	delete(f.along, string(id))
	delete(f.revoked, string(id))
}

func (f *fold) remove(place string) {
	maps.DeleteFunc(f.doc, func(at, _ string) bool { return at == place || within(at, place) })
	if id, ok := strings.CutPrefix(place, "devices."); ok {
		f.revoked[id] = true
		delete(f.along, id)
	}
}

// bringAlong adds the registered devices that folders are shared with, unless a template removed them.
func (f *fold) bringAlong() {
	for place := range maps.Clone(f.doc) {
		id, shared := sharedWith(place)
		if shared && f.doc["devices."+id] == "" && registered[id] != "" && !f.revoked[id] {
			f.member("devices." + id)
			f.along[id] = true
		}
	}
}

// finish takes out what cannot be: shares with devices that are not there, or not trusted, devices brought along for
// nothing, and ignored devices that are there.
func (f *fold) finish() {
	shared := map[string]bool{}
	for place := range maps.Clone(f.doc) {
		id, ok := sharedWith(place)
		untrusted := f.unshares && f.doc["devices."+id+".untrusted"] == "true"
		if ok && (untrusted || f.doc["devices."+id] == "") {
			delete(f.doc, place)
		} else if ok {
			shared[id] = true
		}
	}
	for id := range f.along {
		if !shared[id] {
			f.remove("devices." + id)
		}
	}
	for place := range maps.Clone(f.doc) {
		id, ok := ignoredDevice(place)
		comesBack := f.base[place] != "" && f.base["devices."+id] != "" // the daemon forgets it only then
		if ok && isMember(place) && f.doc["devices."+id] != "" && !comesBack {
			f.remove(place)
		}
	}
}

func shareOf(folder string, id fleet.DeviceID) string {
	return "folders." + folder + ".devices." + string(id)
}

const ignoredDevices = "remoteIgnoredDevices."

// ignoredDevice is the device of a place that says that it is ignored, or of what lies in that.
func ignoredDevice(place string) (id string, ok bool) {
	rest, ok := strings.CutPrefix(place, ignoredDevices)
	id, _, _ = strings.Cut(rest, ".")
	return id, ok
}

// sharedWith is the device of a share.
func sharedWith(place string) (id string, ok bool) {
	parts := strings.Split(place, ".")
	if len(parts) != 4 || parts[0] != "folders" {
		return "", false
	}
	return parts[3], true
}

func text(s string) string { return fmt.Sprintf("%q", s) }

// kind is a kind of template: what is saved, in two variants, and what that says.
type kind struct {
	priority int64
	op, key  string
	variants [2]string
	says     func(f *fold, variant int)
}

func members(ids ...fleet.DeviceID) string {
	var list []string
	for _, id := range ids {
		list = append(list, fmt.Sprintf(`{"deviceID": %q}`, id))
	}
	return "[" + strings.Join(list, ", ") + "]"
}

// sets is a template about one leaf.
func sets(priority int64, place string, values ...string) kind {
	return kind{priority, "set", place, [2]string(values), func(f *fold, v int) { f.leaf(place, values[v]) }}
}

// shares is a template that shares a folder with one device or the other.
func shares(priority int64, folder string, with ...fleet.DeviceID) kind {
	return kind{priority, "merge", "folders." + folder + ".devices", [2]string{members(with[0]), members(with[1])},
		func(f *fold, v int) { f.share(folder, with[v]) }}
}

// removes is a template that removes one member of a list or the other.
func removes(priority int64, list string, ids ...string) kind {
	return kind{priority, "remove", list, [2]string{"[" + text(ids[0]) + "]", "[" + text(ids[1]) + "]"},
		func(f *fold, v int) { f.remove(list + "." + ids[v]) }}
}

// Places of some kinds in kinds.
const madeByHand, removesNora, removesDocs, sharesDocs = 4, 11, 12, 14

// kinds overlap in every way: same leaves, members and what lies in them, additions and removals.
var kinds = []kind{
	sets(10, "options.maxSendKbps", "100", "101"),
	sets(20, "options.maxSendKbps", "200", "201"),
	{15, "merge", "", [2]string{
		`{"options": {"maxSendKbps": 300, "maxRecvKbps": 310}}`,
		`{"options": {"maxRecvKbps": 311}}`,
	}, func(f *fold, v int) {
		f.leaf("options.maxRecvKbps", []string{"310", "311"}[v])
		if v == 0 {
			f.leaf("options.maxSendKbps", "300")
		}
	}},
	{30, "merge", "folders", [2]string{
		`[{"id": "made", "path": "~/made", "devices": ` + members(nora) + `}]`,
		`[{"id": "made", "path": "~/made", "devices": ` + members(olga, nora) + `}]`,
	}, func(f *fold, v int) {
		f.member("folders.made")
		f.share("made", nora)
		if v == 1 {
			f.share("made", olga)
		}
	}},
	{33, "merge", "folders", [2]string{
		`[{"id": "hand", "path": "~/hand", "label": "given", "devices": ` + members(olga) + `}]`,
		`[{"id": "hand", "path": "~/hand"}]`,
	}, func(f *fold, v int) {
		f.member("folders.hand")
		if v == 0 {
			f.leaf("folders.hand.label", text("given"))
			f.share("hand", olga)
		}
	}},
	shares(35, "made", olga, nora),
	sets(40, "folders.made.rescanIntervalS", "60", "61"),
	{41, "set", "folders.*.label", [2]string{`"same"`, `"other"`}, func(f *fold, v int) {
		f.everyFolder("label", []string{`"same"`, `"other"`}[v])
	}},
	sets(45, "folders.made.paused", "true", "false"),
	removes(46, "folders.made.devices", string(nora), string(olga)),
	{50, "merge", "devices", [2]string{
		`[{"deviceID": "` + string(nora) + `", "maxSendKbps": 9}]`,
		`[{"deviceID": "` + string(nora) + `"}]`,
	}, func(f *fold, v int) {
		f.device(nora)
		if v == 0 {
			f.leaf("devices."+string(nora)+".maxSendKbps", "9")
		}
	}},
	removes(60, "devices", string(nora), string(olga)),
	removes(61, "folders", "docs", "made"),
	shares(65, "made", nora, olga),
	shares(70, "docs", nora, olga),
	removes(80, "devices", string(storage), string(otto)),
	sets(90, "folders.docs.rescanIntervalS", "70", "71"),
	sets(92, patternsPlace, `["*.one"]`, `["*.two","*.three"]`),
	{93, "merge", "gui", [2]string{
		`{"user": "ann", "password": "` + phrases[0] + `"}`, `{"user": "ben", "password": "` + phrases[1] + `"}`,
	}, func(f *fold, v int) {
		f.leaf("gui.user", []string{`"ann"`, `"ben"`}[v])
		f.leaf(passwordPlace, text(phrases[v]))
	}},
	sets(94, "devices."+string(storage)+".untrusted", "true", "false"),
	{95, "append", "remoteIgnoredDevices", [2]string{members(nora), members(olga)}, func(f *fold, v int) {
		f.member(ignoredDevices + string([]fleet.DeviceID{nora, olga}[v]))
	}},
}
