package plan

import (
	"slices"
	"strings"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// namesIn returns the devices, folders and paths that a change at key names, in its key and in its values.
func namesIn(key stconfig.Key, values ...stconfig.Value) fleet.Names {
	n := names{devices: map[string]bool{}, folders: map[string]bool{}, paths: map[string]bool{}}
	for i := range key.Len() {
		n.inKey(key, i)
	}
	for _, v := range values {
		n.add(key, v)
	}
	var out fleet.Names
	for id := range n.devices {
		out.Devices = append(out.Devices, fleet.DeviceID(id))
	}
	for id := range n.folders {
		out.Folders = append(out.Folders, id)
	}
	for path := range n.paths {
		out.Paths = append(out.Paths, path)
	}
	slices.Sort(out.Devices)
	slices.Sort(out.Folders)
	slices.Sort(out.Paths)
	return out
}

// names collects the devices, folders and paths that a change mentions.
type names struct{ devices, folders, paths map[string]bool }

// inKey adds the device or folder that the name at position i of a key means.
func (n names) inKey(key stconfig.Key, i int) {
	switch name, section := key.At(i).Name, strings.ToLower(key.At(0).Name); {
	case namesDevice(key, i):
		n.devices[strings.Clone(name)] = true
	case i == 1 && (section == "folders" || section == "ignores"):
		n.folders[strings.Clone(name)] = true
	}
}

// add adds what a value at key names.
func (n names) add(key stconfig.Key, v stconfig.Value) {
	switch v.Kind() {
	case stconfig.Object:
		for name, member := range v.Members() {
			n.add(key.Child(name), member)
		}
	case stconfig.Array:
		for member := range v.Values() {
			child := key.Child(identityOf(member))
			n.inKey(child, child.Len()-1)
			n.add(child, member)
		}
	case stconfig.String:
		n.text(key, v.Str())
	}
}

// text adds the text at a key where the field holds a device ID or a path.
func (n names) text(key stconfig.Key, text string) {
	if text == "" || key.Len() == 0 {
		return
	}
	switch strings.ToLower(key.At(key.Len() - 1).Name) {
	case "deviceid", "introducedby":
		n.devices[strings.Clone(text)] = true
	case "path", "fspath", "versionspath", "auditfile":
		n.paths[strings.Clone(text)] = true
	}
}
