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
	doc      flat
	along    map[string]bool // devices that are there because a folder is shared with them
	revoked  map[string]bool // devices that a template removed
	asked    map[string]bool // places that a template says something of
}

func newFold(base flat, defaults map[string]string) *fold {
	f := &fold{base: base, defaults: defaults, doc: flat{}, along: map[string]bool{}, revoked: map[string]bool{},
		asked: map[string]bool{}}
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

// finish takes out what cannot be: shares with devices that are not there, and devices brought along for nothing.
func (f *fold) finish() {
	shared := map[string]bool{}
	for place := range maps.Clone(f.doc) {
		if id, ok := sharedWith(place); ok && f.doc["devices."+id] == "" {
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
}

func shareOf(folder string, id fleet.DeviceID) string {
	return "folders." + folder + ".devices." + string(id)
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

// pick is one of two.
func pick[T any](variant int, a, b T) T {
	if variant == 0 {
		return a
	}
	return b
}

// kinds overlap in every way: same leaves, members and what lies in them, additions and removals.
var kinds = []kind{
	{10, "set", "options.maxSendKbps", [2]string{"100", "101"}, func(f *fold, v int) { f.leaf("options.maxSendKbps", pick(v, "100", "101")) }},
	{20, "set", "options.maxSendKbps", [2]string{"200", "201"}, func(f *fold, v int) { f.leaf("options.maxSendKbps", pick(v, "200", "201")) }},
	{15, "merge", "", [2]string{`{"options": {"maxSendKbps": 300, "maxRecvKbps": 310}}`, `{"options": {"maxRecvKbps": 311}}`}, func(f *fold, v int) {
		f.leaf("options.maxRecvKbps", pick(v, "310", "311"))
		if v == 0 {
			f.leaf("options.maxSendKbps", "300")
		}
	}},
	{30, "merge", "folders", [2]string{`[{"id": "made", "path": "~/made", "devices": ` + members(nora) + `}]`,
		`[{"id": "made", "path": "~/made", "devices": ` + members(olga, nora) + `}]`}, func(f *fold, v int) {
		f.member("folders.made")
		f.share("made", nora)
		if v == 1 {
			f.share("made", olga)
		}
	}},
	{33, "merge", "folders", [2]string{`[{"id": "hand", "path": "~/hand", "label": "given", "devices": ` + members(olga) + `}]`,
		`[{"id": "hand", "path": "~/hand"}]`}, func(f *fold, v int) {
		f.member("folders.hand")
		if v == 0 {
			f.leaf("folders.hand.label", text("given"))
			f.share("hand", olga)
		}
	}},
	{35, "merge", "folders.made.devices", [2]string{members(olga), members(nora)}, func(f *fold, v int) { f.share("made", pick(v, olga, nora)) }},
	{40, "set", "folders.made.rescanIntervalS", [2]string{"60", "61"}, func(f *fold, v int) { f.leaf("folders.made.rescanIntervalS", pick(v, "60", "61")) }},
	{41, "set", "folders.*.label", [2]string{`"same"`, `"other"`}, func(f *fold, v int) { f.everyFolder("label", pick(v, text("same"), text("other"))) }},
	{45, "set", "folders.made.paused", [2]string{"true", "false"}, func(f *fold, v int) { f.leaf("folders.made.paused", pick(v, "true", "false")) }},
	{46, "remove", "folders.made.devices", [2]string{`["` + string(nora) + `"]`, `["` + string(olga) + `"]`}, func(f *fold, v int) {
		delete(f.doc, shareOf("made", pick(v, nora, olga)))
	}},
	{50, "merge", "devices", [2]string{`[{"deviceID": "` + string(nora) + `", "maxSendKbps": 9}]`, `[{"deviceID": "` + string(nora) + `"}]`}, func(f *fold, v int) {
		f.device(nora)
		if v == 0 {
			f.leaf("devices."+string(nora)+".maxSendKbps", "9")
		}
	}},
	{60, "remove", "devices", [2]string{`["` + string(nora) + `"]`, `["` + string(olga) + `"]`}, func(f *fold, v int) {
		f.remove("devices." + string(pick(v, nora, olga)))
	}},
	{61, "remove", "folders", [2]string{`["docs"]`, `["made"]`}, func(f *fold, v int) { f.remove("folders." + pick(v, "docs", "made")) }},
	{65, "merge", "folders.made.devices", [2]string{members(nora), members(olga)}, func(f *fold, v int) { f.share("made", pick(v, nora, olga)) }},
	{70, "merge", "folders.docs.devices", [2]string{members(nora), members(olga)}, func(f *fold, v int) { f.share("docs", pick(v, nora, olga)) }},
	{80, "remove", "devices", [2]string{`["` + string(storage) + `"]`, `["` + string(otto) + `"]`}, func(f *fold, v int) {
		f.remove("devices." + string(pick(v, storage, otto)))
	}},
	{90, "set", "folders.docs.rescanIntervalS", [2]string{"70", "71"}, func(f *fold, v int) { f.leaf("folders.docs.rescanIntervalS", pick(v, "70", "71")) }},
}
