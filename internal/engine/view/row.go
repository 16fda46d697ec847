package view

import (
	"context"
	"iter"
	"slices"
	"strings"

	"muster/internal/fleet"
)

// Row is what a table of the fleet shows of a device. It is immutable, except for its encoded text.
type Row struct {
	Device  *fleet.Registered // record of the device
	State   fleet.State
	Mode    fleet.Mode        // the strictest of server, fleet, tags and device
	Waits   []fleet.WaitCause // why the device waits for a person
	Version string            // version of the daemon; "" while unknown
	OS      string
	Arch    string
	Folders fleet.FolderCounts

	NeedBytes int64 // bytes that the folders lack
	// Troubles are the folders at which a person should look.
	Troubles []fleet.FolderTrouble
	Young    bool // something of the device becomes trouble if it lasts
	DiskFree int  // free space of the fullest disk in percent, as the agent reports; negative: unknown

	unwatched bool        // the device is not watched yet, and no total counts it
	folders   []folderRow // the folders for totals, sorted by folder ID
	search    string      // lower case

	// The mu of the table guards what follows.
	text   []byte       // the row on the wire; nil: not written yet
	listed *ListedState // the state that was last listed; nil: not listed yet
}

// folderRow is the state of a folder on one device, for totals.
type folderRow struct {
	fleet.FolderLabel
	state     fleet.FolderState
	disagrees bool // The device is one of those that disagree about the folder.
}

// makeRow makes the row of a device.
func (v *View) makeRow(ctx context.Context, registry *fleet.Registry, device *fleet.Registered, before *Row,
) (*Row, error) {
	state, err := v.State(ctx, device.ID)
	unwatched := fleet.CodeOf(err) == fleet.CodeNotFound // registered alone: it is marked when it is watched
	if unwatched {
		state, err = fleet.State{Connection: fleet.NeverSeen, Configuration: fleet.ConfigUnknown}, nil
	}
	if err != nil {
		return nil, err
	}
	snapshot := v.Snapshot(device.ID)
	row := &Row{
		Device:    device,
		State:     state,
		unwatched: unwatched,
		DiskFree:  -1,
		Mode:      fleet.Strictest(v.Mode.OrOn(), registry.ModeOf(device.ID).OrOn()),
		Waits:     v.Causes(state, snapshot),
	}
	if snapshot != nil {
		v.addSnapshot(row, snapshot, before)
	}
	if before != nil {
		if row.shows(before) {
			return before, nil
		}
		row.listed = before.listed
	}
	row.search = strings.ToLower(strings.Join([]string{device.Label, string(device.ID), device.APIAddress, state.Address},
		"\n"))
	return row, nil
}

// addSnapshot adds what the mirror knows of the device. Folders of a configuration that is not stored yet are counted,
// but the list of folders leaves them out, because its links lead to stored data.
func (v *View) addSnapshot(row *Row, s *fleet.Snapshot, before *Row) {
	if s.Version != nil {
		row.Version, row.OS, row.Arch = s.Version.Version, s.Version.OS, s.Version.Arch
	}
	row.NeedBytes = s.NeedBytes()
	if v.FolderTroubles != nil {
		row.Troubles = v.FolderTroubles(s.Device)
	}
	row.Young = v.IsYoung != nil && v.IsYoung(s)
	row.DiskFree = s.Disks.LeastFree()
	for _, f := range s.Folders {
		state, _ := v.FolderState(s, f.Folder)
		row.Folders.Add(state, 1)
	}
	listed := s.Folders
	if s.Unstored {
		listed = nil
		if before != nil {
			listed = before.labels()
		}
	}
	row.folders = make([]folderRow, len(listed))
	for i, f := range listed {
		row.folders[i].FolderLabel = f
		row.folders[i].state, row.folders[i].disagrees = v.FolderState(s, f.Folder)
	}
	slices.SortStableFunc(row.folders, func(a, b folderRow) int { return strings.Compare(a.Folder, b.Folder) })
	row.folders = slices.CompactFunc(row.folders, func(a, b folderRow) bool { return a.Folder == b.Folder })
}

// FolderStates returns the folders of the device, ordered by ID, and the state of each.
func (r *Row) FolderStates() iter.Seq2[string, fleet.FolderState] {
	return func(yield func(string, fleet.FolderState) bool) {
		for _, f := range r.folders {
			if !yield(f.Folder, f.state) {
				return
			}
		}
	}
}

func (r *Row) labels() []fleet.FolderLabel {
	all := make([]fleet.FolderLabel, len(r.folders))
	for i, f := range r.folders {
		all[i] = f.FolderLabel
	}
	return all
}

// inTrouble reports whether the device has any trouble.
func (r *Row) inTrouble() bool {
	return slices.ContainsFunc(r.Waits, func(c fleet.WaitCause) bool { return slices.Contains(fleet.TroubleCauses, c) })
}

// Has reports whether the device has a tag.
func (r *Row) Has(tag fleet.Tag) bool { return slices.Contains(r.Device.Tags, tag) }

// ShowsAs reports whether a row shows the same as an earlier row of the same device.
func (r *Row) ShowsAs(before *Row) bool {
	return r == before || before != nil && r.Device.Label == before.Device.Label &&
		slices.Equal(r.Device.Tags, before.Device.Tags) && sameState(before.State, r.State) && r.Mode == before.Mode &&
		slices.Equal(r.Waits, before.Waits) && r.Version == before.Version && r.OS == before.OS && r.Arch == before.Arch &&
		r.Folders == before.Folders && r.NeedBytes == before.NeedBytes &&
		r.DiskFree == before.DiskFree
}

// shows reports whether ShowsAs is true and the row also adds the same to the totals.
func (r *Row) shows(before *Row) bool {
	return r.ShowsAs(before) && r.unwatched == before.unwatched && r.Device.APIAddress == before.Device.APIAddress &&
		slices.Equal(r.folders, before.folders) && slices.Equal(r.Troubles, before.Troubles) && r.Young == before.Young
}

// sameState reports whether two states look the same in a row. LastSeen of a device that is online is ignored, because
// it changes all the time.
func sameState(before, now fleet.State) bool {
	if before.Since.Equal(now.Since) {
		now.Since = before.Since
	}
	online := before.Connection == fleet.Online && now.Connection == fleet.Online
	if online || before.LastSeen.Equal(now.LastSeen) {
		now.LastSeen = before.LastSeen
	}
	return before == now
}
