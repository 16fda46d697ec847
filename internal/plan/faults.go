package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// A daemon takes ignore patterns that it cannot read, and a path that it cannot make, with 200, and stops the folder a
// moment later. Where that follows a write of Muster's, the device is failed until the folder runs again. The stop
// that says so survives a restart; it keeps no key from being written, because a write is what mends the folder.

// blamedFor is how long after a write an error of the folder is the write's.
const blamedFor = 2 * time.Minute

const faultMark = "error of " // before the folder's key: it is not that key which is stopped

func faultOf(folder string) string {
	return faultMark + stconfig.Key{}.Child("folders").Child(folder).String()
}

// faultyFolder is the folder that a stop is about.
func faultyFolder(fault fleet.Stop) string {
	key, err := stconfig.ParseKey(strings.TrimPrefix(fault.Key, faultMark))
	if err != nil || key.Len() < 2 {
		return ""
	}
	return key.At(1).Name
}

// writtenFolder is the folder that a change at a key is about, "" when it is about none.
func writtenFolder(key stconfig.Key) string {
	if key.Len() < 2 || key.At(0).Name != "folders" && key.At(0).Name != "ignores" {
		return ""
	}
	return key.At(1).Name
}

// WatchesFolders tells whether an error of a folder matters.
func (s *Stops) WatchesFolders() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.wrote) > 0 || len(s.faults()) > 0
}

// faults are the stops that are about folders in error. The caller holds mu.
func (s *Stops) faults() []fleet.Stop {
	var faults []fleet.Stop
	for _, stop := range s.now {
		if stop.Kind == fleet.StopFolder {
			faults = append(faults, stop)
		}
	}
	slices.SortFunc(faults, func(a, b fleet.Stop) int { return strings.Compare(a.Key, b.Key) })
	return faults
}

// WritesFolders notes the folders that are about to be written to and are not in error yet.
func (s *Stops) WritesFolders(keys []stconfig.Key, inError map[string]string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range keys {
		if folder := writtenFolder(key); folder != "" && inError[folder] == "" {
			s.wrote[folder] = now
		}
	}
}

// FolderErrors are the errors of the folders that were written to, as one text.
func (s *Stops) FolderErrors(inError map[string]string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var text strings.Builder
	for _, folder := range slices.Sorted(maps.Keys(inError)) {
		if _, wrote := s.wrote[folder]; wrote || s.now[faultOf(folder)].Key != "" {
			fmt.Fprintf(&text, "%q %q\n", folder, inError[folder])
		}
	}
	return text.String()
}

// JudgeFolders blames writes for the errors that folders have now, and forgets what is over. runs tells whether a
// folder was seen without error after a time, or is gone.
func (s *Stops) JudgeFolders(inError map[string]string, runs func(folder string, since time.Time) bool, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.wrote, func(_ string, at time.Time) bool { return now.Sub(at) > blamedFor })
	for folder, reason := range inError {
		key := faultOf(folder)
		fault, known := s.now[key]
		if _, wrote := s.wrote[folder]; !wrote && !known {
			continue
		}
		fault.Key, fault.Kind = key, fleet.StopFolder
		fault.Reason = fmt.Sprintf("folder %q is in error since Muster changed it: %s", folder, reason)
		if fault.Since.IsZero() {
			fault.Since = now
		}
		s.stop(fault)
	}
	for _, fault := range s.faults() {
		if folder := faultyFolder(fault); inError[folder] == "" && runs(folder, fault.Since) {
			delete(s.now, fault.Key)
		}
	}
}

// Unmended are the folders in error, without those that a plan changes: that may mend them.
func (s *Stops) Unmended(p Plan) []fleet.Stop {
	s.mu.Lock()
	defer s.mu.Unlock()
	mended := map[string]bool{}
	for _, c := range p.Changes {
		if folder := writtenFolder(c.Key); folder != "" && c.Class != Skipped {
			mended[faultOf(folder)] = true
		}
	}
	return slices.DeleteFunc(s.faults(), func(stop fleet.Stop) bool { return mended[stop.Key] })
}
