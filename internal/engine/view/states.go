package view

import (
	"context"
	"slices"

	"muster/internal/fleet"
)

// ListedState is a member of the list of states. It is immutable.
type ListedState struct {
	Device *fleet.Registered
	State  fleet.State
	Text   []byte // on the wire
}

// States are those of the devices in the caller's scope, by label, then ID. Each is asked for now: unlike a row, a
// listed state has the time of the last contact, and a list is never older than its request. Devices without a state
// are left out. The rows are not locked meanwhile.
func (v *View) States(ctx context.Context, registry *fleet.Registry) ([]*ListedState, error) {
	var rows []*Row
	var listed []*ListedState // of each row
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

// listState asks for the state of a row. It gives before when that is the same, and nil for a device without a state.
func (v *View) listState(ctx context.Context, row *Row, before *ListedState) (*ListedState, error) {
	state, err := v.State(ctx, row.Device.ID)
	switch {
	case fleet.CodeOf(err) == fleet.CodeNotFound: // deleted since, or not watched yet
		return nil, nil //nolint:nilnil // as it says
	case err != nil:
		return nil, err
	case before == nil || before.State != state:
		text, err := v.Wire.State(row.Device.ID, state)
		return &ListedState{Device: row.Device, State: state, Text: text}, err
	case before.Device != row.Device:
		return &ListedState{Device: row.Device, State: state, Text: before.Text}, nil
	}
	return before, nil
}

// remember notes how rows were listed.
func (p *part) remember(rows []*Row, listed []*ListedState) {
	p.rows.mu.Lock()
	defer p.rows.mu.Unlock()
	for i, row := range rows {
		if listed[i] != nil {
			row.listed = listed[i]
		}
	}
}
