package view

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// The two ways in which a program names the devices that a folder is shared with. The text is searched and not run, so
// that a program cannot make the server work.
var (
	namedDevice = regexp.MustCompile(`[A-Z2-7]{7}(?:-[A-Z2-7]{7}){7}`)
	namedTag    = regexp.MustCompile(`devices\(\s*(?:tag\s*=\s*)?(?:"([^"\n]+)"|'([^'\n]+)')\s*\)`)
)

// unreachedWarning warns of devices that the program of a template names, and to which no template gives its folder:
// they lack the template's tags. The program may name them for something else than a share. The warning is "" without
// such a device.
func unreachedWarning(t *fleet.TaggedTemplate, r *fleet.Registry) string {
	folder, shares := folderOf(t)
	if !shares || len(t.Tags) == 0 {
		return ""
	}
	named := namedIn(t.Text)
	var names []string
	for id, device := range r.Devices {
		if !t.AppliesTo(device) && named.has(device) && !getsFolder(r, id, folder) {
			names = append(names, cmp.Or(device.Label, id.Short()))
		}
	}
	if len(names) == 0 {
		return ""
	}
	total := len(names)
	slices.SortFunc(names, compareNames)
	lacks, it := "lacks", "it"
	if total > 1 {
		lacks, it = "lack", "them"
	}
	return fmt.Sprintf("the template %s names %s, which %s %s, and may share with %s: no template gives %s the folder",
		nameOfTemplate(t), listedNames(names, total), lacks, tagsText(t.Tags), it, it)
}

// namedPeers are the devices that a program names.
type namedPeers struct {
	ids  map[string]bool
	tags map[string]bool // The program names all devices with one of these tags.
}

// namedIn returns the devices that a program names outside of its comments.
func namedIn(text string) namedPeers {
	named := namedPeers{ids: map[string]bool{}, tags: map[string]bool{}}
	for line := range strings.Lines(text) {
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, "//") {
			continue
		}
		for _, id := range namedDevice.FindAllString(line, -1) {
			named.ids[id] = true
		}
		for _, found := range namedTag.FindAllStringSubmatch(line, -1) {
			named.tags[cmp.Or(found[1], found[2])] = true
		}
	}
	return named
}

// has reports whether the program names a device.
func (n namedPeers) has(device *fleet.Registered) bool {
	return n.ids[string(device.ID)] ||
		slices.ContainsFunc(device.Tags, func(tag fleet.Tag) bool { return n.tags[string(tag)] })
}

// folderOf returns the folder that a template sets or extends, "" for any. shares is false for a template whose value
// names no devices that a folder is shared with.
func folderOf(t *fleet.TaggedTemplate) (folder string, shares bool) {
	key, err := stconfig.ParseKey(t.Key)
	if err != nil || t.Op == fleet.OpRemove || !t.Reads.OrAll().Sharing {
		return "", false
	}
	if key.Len() == 0 {
		return "", true
	}
	if !strings.EqualFold(key.At(0).Name, "folders") {
		return "", false
	}
	if key.Len() == 1 || key.At(1).Every {
		return "", true
	}
	return key.At(1).Name, true
}

// getsFolder reports whether a template that applies to a device may make a folder there. A key below a folder changes
// a folder that is there already.
func getsFolder(r *fleet.Registry, id fleet.DeviceID, folder string) bool {
	for t := range r.Applying(id) {
		key, err := stconfig.ParseKey(t.Key)
		if err != nil || t.Op == fleet.OpRemove || key.Len() > 2 {
			continue
		}
		if key.Len() == 0 || strings.EqualFold(key.At(0).Name, "folders") &&
			(key.Len() == 1 || folder == "" || key.At(1).Name == folder) {
			return true
		}
	}
	return false
}
