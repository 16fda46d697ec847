package reconcile

import (
	"context"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// RevisionStore has the revisions: the configurations that daemons had.
type RevisionStore interface {
	// Revision returns the revision with this number; not_found when it is not kept any more.
	Revision(ctx context.Context, id fleet.DeviceID, number int64) (fleet.Revision, error)
}

// Compare returns the changes that lead from one revision of a device to another, secrets masked.
func (e *Engine) Compare(ctx context.Context, id fleet.DeviceID, from, to int64) ([]stconfig.Change, error) {
	left := int64(maxCompared)
	a, err := e.revision(ctx, id, from, &left)
	if err != nil {
		return nil, err
	}
	b, err := e.revision(ctx, id, to, &left)
	if err != nil {
		return nil, err
	}
	changes := stconfig.Diff(a, b)
	for i, c := range changes {
		changes[i].From, changes[i].To = stconfig.MaskAt(c.Key, c.From), stconfig.MaskAt(c.Key, c.To)
	}
	return changes, nil
}

// maxCompared bounds the bytes of memory that the revisions of one call take.
const maxCompared = 24 << 20

// revision returns the document of a revision if the document is usable. It returns an error if the document takes
// more than left bytes of memory; otherwise it subtracts what the document takes from left.
func (e *Engine) revision(ctx context.Context, id fleet.DeviceID, number int64, left *int64) (stconfig.Value, error) {
	revision, err := e.o.Store.Revision(ctx, id, number)
	if err != nil {
		return stconfig.Value{}, err
	}
	size := stconfig.ParsedSize(revision.JSON)
	if *left -= size; *left < 0 {
		return stconfig.Value{}, &fleet.Error{
			Code: fleet.CodeTooLarge, During: "read revision",
			Message: "the configuration is too large to be compared or restored",
			Hint:    "GET the revision, and compare it or bring it back with a program of your own.",
		}
	}
	if err := e.o.Memory.Take(ctx, size); err != nil {
		return stconfig.Value{}, err
	}
	doc, err := stconfig.Parse(revision.JSON)
	if err != nil {
		return stconfig.Value{}, err
	}
	return doc, stconfig.Usable(doc, id)
}
