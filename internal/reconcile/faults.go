package reconcile

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/stconfig"
)

// A daemon takes ignore patterns that it cannot read, and a path that it cannot make, with 200, and stops the folder a
// moment later. Where that follows a write of Muster's, the device is failed until the folder runs again. The stop
// that says so survives a restart; it keeps no key from being written, because a write is what mends the folder.

// blamedFor is how long after a write an error of the folder is the write's.
const blamedFor = 2 * time.Minute

// FoldersSeen says that folders of a device changed their state.
func (e *Engine) FoldersSeen(id fleet.DeviceID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if m := e.items[id]; m != nil && m.history.watchesFolders() {
		e.push(m)
	}
}

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

// watchesFolders tells whether an error of a folder would be news.
func (m *history) watchesFolders() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.wrote) > 0 || len(m.faults()) > 0
}

// faults are the stops that are about folders in error. The caller holds mu.
func (m *history) faults() []fleet.Stop {
	var faults []fleet.Stop
	for _, s := range m.stops {
		if s.Kind == fleet.StopFolder {
			faults = append(faults, s)
		}
	}
	slices.SortFunc(faults, func(a, b fleet.Stop) int { return strings.Compare(a.Key, b.Key) })
	return faults
}

// writesFolders notes the folders that are about to be written to and are not in error yet.
func (m *history) writesFolders(keys []stconfig.Key, inError map[string]string, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, key := range keys {
		if folder := writtenFolder(key); folder != "" && inError[folder] == "" {
			m.wrote[folder] = now
		}
	}
}

// writtenFolder is the folder that a change at a key is about, "" when it is about none.
func writtenFolder(key stconfig.Key) string {
	if key.Len() < 2 || key.At(0).Name != "folders" && key.At(0).Name != "ignores" {
		return ""
	}
	return key.At(1).Name
}

// folderErrors are the errors of the folders that were written to, as one text.
func (m *history) folderErrors(inError map[string]string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var text strings.Builder
	for _, folder := range slices.Sorted(maps.Keys(inError)) {
		if _, wrote := m.wrote[folder]; wrote || m.stops[faultOf(folder)].Key != "" {
			fmt.Fprintf(&text, "%q %q\n", folder, inError[folder])
		}
	}
	return text.String()
}

// judgeFolders blames writes for the errors that folders have now. What it finds is durable before it is reported.
func (e *Engine) judgeFolders(ctx context.Context, j *job) {
	if known := e.o.Daemon.Known(j.m.id); known.Online {
		j.m.history.judgeFolders(known, time.Now())
		e.keepStops(context.WithoutCancel(ctx), j)
	}
}

// judgeFolders blames writes for the errors that followed, and forgets what is over.
func (m *history) judgeFolders(known Known, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	inError := known.FolderErrors
	for folder, at := range m.wrote {
		if now.Sub(at) > blamedFor {
			delete(m.wrote, folder)
		}
	}
	for folder, reason := range inError {
		key := faultOf(folder)
		fault, known := m.stops[key]
		if _, wrote := m.wrote[folder]; !wrote && !known {
			continue
		}
		fault.Key, fault.Kind = key, fleet.StopFolder
		fault.Reason = fmt.Sprintf("folder %q is in error since Muster changed it: %s", folder, reason)
		if fault.Since.IsZero() {
			fault.Since = now
		}
		m.stop(fault)
	}
	for _, fault := range m.faults() {
		if folder := faultyFolder(fault); inError[folder] == "" && known.FolderRuns(folder, fault.Since) {
			delete(m.stops, fault.Key)
		}
	}
}

// unmendedFaults are the folders in error, without those that the plan changes: that may mend them.
func (j *job) unmendedFaults() []fleet.Stop {
	j.m.history.mu.Lock()
	defer j.m.history.mu.Unlock()
	mended := map[string]bool{}
	for _, c := range j.plan.Changes {
		if folder := writtenFolder(c.Key); folder != "" && c.Class != plan.Skipped {
			mended[faultOf(folder)] = true
		}
	}
	return slices.DeleteFunc(j.m.history.faults(), func(s fleet.Stop) bool { return mended[s.Key] })
}
