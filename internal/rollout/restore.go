package rollout

import (
	"context"

	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/stconfig"
)

// Restorer compares the revisions of a device and restores them.
type Restorer struct{ o RestoreOptions }

// RestoreOptions make a Restorer.
type RestoreOptions struct{}

// NewRestorer makes one; it starts nothing.
func NewRestorer(o RestoreOptions) *Restorer { return &Restorer{o} }

// Compare says what leads from one revision of a device to another. Secrets are masked.
func (r *Restorer) Compare(ctx context.Context, id fleet.DeviceID, from, to int64) ([]stconfig.Change, error) {
	return nil, nil
}

// RestoreRequest says what to restore.
type RestoreRequest struct {
	Section string   // "options", "gui", "folders", ... or a key below, like "folders.photos"; "" is everything
	Digest  string   // of the plan that the person saw; needed with Consent
	Consent []string // keys of held changes that may go out
}

// Restored is what came of a restore.
type Restored struct {
	Plan   plan.Plan     // what it changes; held as a whole when one of its changes waits for consent
	Done   bool          // it was sent and read back; false when it is held, or when nothing differs
	Left   []plan.Change // what is not restored, with the reason
	Reason string        // for a person
	Next   string
}

// Restore brings a device's configuration, or a section of it, back to a revision, through plan and guard.
func (r *Restorer) Restore(ctx context.Context, id fleet.DeviceID, number int64, request RestoreRequest) (Restored, error) {
	return Restored{}, nil
}
