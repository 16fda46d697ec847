package view

import (
	"context"
	"iter"
	"slices"

	"muster/internal/fleet"
)

// ListedState is a member of the list of states. It is immutable.
type ListedState struct {
	Device *fleet.Registered
	State  fleet.State
	Worst  fleet.WorstFolder
	Text   []byte // on the wire
}

// States returns the states of the devices in the caller's scope, ordered by label, then ID. Each state is computed
// during the call: unlike a row, a listed state has the time of the last contact. Devices without a state are left
// out. The rows are not locked meanwhile.
func (v *View) States(ctx context.Context, registry *fleet.Registry) ([]*ListedState, error) {
	var rows []*Row
	var listed []*ListedState // listed state of each row
	p := v.partOf(ctx)
	err := p.reading(ctx, registry, func() error {
		rows = p.rows.inOrder()
		listed = make([]*ListedState, len(rows))
		for i, row := range rows {
			listed[i] = row.listed
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for i, row := range rows {
		if listed[i], err = v.listState(ctx, row, listed[i]); err != nil {
			return nil, err
		}
	}
	p.remember(rows, listed)
	return slices.DeleteFunc(listed, func(one *ListedState) bool { return one == nil }), nil
}

// listState computes the state of a row. It returns before when the state has not changed, and nil for a device
// without a state.
func (v *View) listState(ctx context.Context, row *Row, before *ListedState) (*ListedState, error) {
	state, err := v.State(ctx, row.Device.ID)
	switch {
	case fleet.CodeOf(err) == fleet.CodeNotFound: // deleted since, or not watched yet
		return nil, nil //nolint:nilnil // as it says
	case err != nil:
		return nil, err
	}
	worst, _ := v.worst(ctx, v.Snapshot(row.Device.ID), row.FolderStates())
	switch {
	case before == nil || before.State != state || before.Worst != worst:
		text, err := v.Wire.State(row.Device.ID, state, worst)
		return &ListedState{Device: row.Device, State: state, Worst: worst, Text: text}, err
	case before.Device != row.Device:
		return &ListedState{Device: row.Device, State: state, Worst: worst, Text: before.Text}, nil
	}
	return before, nil
}

// WorstFolder returns the worst state among the folders of a device, and who paused that folder. The reason names only
// devices of the caller's scope.
func (v *View) WorstFolder(ctx context.Context, id fleet.DeviceID) fleet.WorstFolder {
	s := v.Snapshot(id)
	worst, standing := v.worst(ctx, s, func(yield func(string, fleet.FolderState) bool) {
		for i := 0; s != nil && i < len(s.Folders); i++ {
			state, _ := v.FolderState(s, s.Folders[i].Folder)
			if !yield(s.Folders[i].Folder, state) {
				return
			}
		}
	})
	if standing != nil {
		v.Explain(ctx, standing)
		worst.Reason, worst.Next = standing.Reason, standing.Next
	}
	return worst
}

// worst returns the worst of some folder states, and the standing of that folder, or nil if all is up to date. It does
// not read the database, because lists call it for each device.
func (v *View) worst(ctx context.Context, s *fleet.Snapshot, states iter.Seq2[string, fleet.FolderState],
) (worst fleet.WorstFolder, standing *fleet.FolderStanding) {
	for folder, state := range states {
		switch {
		case worst.Count == 0 || state > worst.State:
			worst = fleet.WorstFolder{State: state, Folder: folder, Count: 1}
		case state == worst.State:
			worst.Folder = min(worst.Folder, folder)
			worst.Count++
		}
	}
	if s == nil || worst.State == fleet.FolderUpToDate || v.FolderStanding == nil {
		return worst, nil
	}
	is := v.FolderStanding(ctx, s, worst.Folder)
	worst.State, worst.Trouble, worst.Since = is.State, is.Trouble, is.Since
	worst.Reason, worst.Next = is.Reason, is.Next
	return worst, &is
}

// remember stores the listed states of rows.
func (p *part) remember(rows []*Row, listed []*ListedState) {
	p.rows.mu.Lock()
	defer p.rows.mu.Unlock()
	for i, row := range rows {
		if listed[i] != nil {
			row.listed = listed[i]
		}
	}
}
