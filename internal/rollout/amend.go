package rollout

import (
	"context"
	"errors"
	"fmt"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// Amendment is a change of one device's configuration that a person makes through Muster, and that no template asks for.
type Amendment struct {
	What   string // for the record: "accept device …"
	Cause  string // of the revision that it makes
	Change func(doc stconfig.Value) (stconfig.Value, error)
}

// Amend makes the change, with everything that a plan goes through: guard, intent, fresh read, narrow writes, read back
// and outcome. What is so already is no error. It is a conflict where the change would have to wait for consent, where
// nothing is written to the device, and where templates have it otherwise: they would take it back.
func (r *Restorer) Amend(ctx context.Context, id fleet.DeviceID, a Amendment) error {
	release, err := r.take(ctx, id)
	if err != nil {
		return err
	}
	defer release()
	session, err := r.o.Session(ctx, id)
	if err != nil {
		return err
	}
	w := restoring{Restorer: r, id: id, what: a.What, cause: a.Cause, done: a.What, target: a.Change, session: session}
	defer w.hangUp()
	if err := w.bring(ctx, w.mayAmend); err != nil {
		return err
	}
	if left := w.left; len(left) > 0 {
		return &fleet.Error{Code: fleet.CodeUnavailable, During: a.What, Message: fmt.Sprintf("the daemon took it and shows %s otherwise", left[0].Key),
			Hint: "Look at the daemon's own GUI and log."}
	}
	return nil
}

// mayAmend tells whether the planned amendment is to be sent; false without an error where everything is so already.
func (w *restoring) mayAmend(ctx context.Context) (bool, error) {
	if len(w.out.Left) > 0 {
		left := w.out.Left[0]
		return false, conflict(fmt.Sprintf("%s cannot be changed: %s", left.Key, left.Reason), "Change the templates, or do it at the daemon.")
	}
	if len(w.out.Plan.Changes) == 0 {
		return false, nil
	}
	w.nothing = "the daemon cannot take it: " + w.out.Plan.Changes[0].Reason
	if w.waits() {
		return false, conflict(w.out.Reason, w.out.Next)
	}
	if w.o.Undone == nil {
		return true, nil
	}
	why, err := w.o.Undone(ctx, w.id, stconfig.Patch(w.doc, w.wanted), w.wanted)
	if err != nil || why != "" {
		return false, errors.Join(err, conflict(why, "Put it into the template, or take the template's tag off the device."))
	}
	return true, nil
}

func conflict(why, next string) error {
	if why == "" {
		return nil
	}
	return &fleet.Error{Code: fleet.CodeConflict, Message: why, Hint: next}
}
