package view

import (
	"cmp"
	"slices"

	"muster/internal/fleet"
)

// ConflictFile is a conflict file of a folder, and the devices that report it.
type ConflictFile struct {
	fleet.Conflict // At is when the first of the devices found it.
	Devices        []*fleet.Registered
}

// ConflictFiles returns the conflict files of a folder on some devices, the newest first. Conflict files are synced
// like any other file, so most devices have the same ones.
func (v *View) ConflictFiles(folder string, devices []*fleet.Registered) []ConflictFile {
	byPath := map[string]*ConflictFile{}
	for _, device := range devices {
		snapshot := v.Snapshot(device.ID)
		if snapshot == nil {
			continue
		}
		for _, conflict := range snapshot.Conflicts[folder] {
			file := byPath[conflict.Path]
			if file == nil {
				file = &ConflictFile{Conflict: conflict}
				byPath[conflict.Path] = file
			}
			if conflict.At.Before(file.At) {
				file.At = conflict.At
			}
			file.Devices = append(file.Devices, device)
		}
	}
	files := make([]ConflictFile, 0, len(byPath))
	for _, file := range byPath {
		files = append(files, *file)
	}
	slices.SortFunc(files, func(a, b ConflictFile) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Path, b.Path)) })
	return files
}
