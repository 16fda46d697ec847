package reconcile

import (
	"context"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// RevisionStore keeps the configurations that were seen.
type RevisionStore interface {
	// Revision is one of them; not_found when it is not kept any more.
	Revision(ctx context.Context, id fleet.DeviceID, number int64) (fleet.Revision, error)
}

// Compare gives what leads from one revision of a device to another. Secrets are masked.
func (e *Engine) Compare(ctx context.Context, id fleet.DeviceID, from, to int64) ([]stconfig.Change, error) {
	a, err := e.revision(ctx, id, from)
	if err != nil {
		return nil, err
	}
	b, err := e.revision(ctx, id, to)
	if err != nil {
		return nil, err
	}
	changes := stconfig.Diff(a, b)
	for i, c := range changes {
		changes[i].From, changes[i].To = stconfig.MaskAt(c.Key, c.From), stconfig.MaskAt(c.Key, c.To)
	}
	return changes, nil
}

// revision is the document of a revision, if it can be believed.
func (e *Engine) revision(ctx context.Context, id fleet.DeviceID, number int64) (stconfig.Value, error) {
	revision, err := e.o.Store.Revision(ctx, id, number)
	if err != nil {
		return stconfig.Value{}, err
	}
	doc, err := stconfig.Parse(revision.JSON)
	if err != nil {
		return stconfig.Value{}, err
	}
	return doc, stconfig.Usable(doc, id)
}
