package change

import (
	"context"
	"slices"
	"time"

	"muster/internal/fleet"
)

// A caller may be limited to a part of the fleet (a scope). Such a caller may change anything that has no effect
// outside of the part: whatever the kind of the edit, the templates must compute the same as before for every device
// outside. To the caller, devices outside do not exist. No answer names one.

const (
	// Limits for waiting until the rollout engine has decided which devices are admitted to the newest generation.
	settleTime  = 10 * time.Second
	settleAgain = 20 * time.Millisecond
)

// sees reports whether the caller may know of a device.
func (j *judgement) sees(id fleet.DeviceID) bool {
	device := j.now.Devices[id]
	return j.scope.Whole() || device != nil && j.scope.Covers(device.Tags)
}

func (j *judgement) isOutside(id fleet.DeviceID) bool { return !j.sees(id) }

// insidePart refuses an edit of a caller with a scope if it has an effect outside of the scope, or would end a
// rollout that has members outside.
func (j *judgement) insidePart(ctx context.Context) error {
	if j.scope.Whole() || j.edit.Empty() {
		return nil
	}
	altered, err := j.alteredInside(ctx)
	if err != nil {
		return err
	}
	crosses, err := j.endsRolloutOutside(ctx, altered)
	if err != nil || !crosses {
		return err
	}
	return &fleet.Error{Code: fleet.CodeConflict,
		Message: "the change would end a rollout that is also for devices that are not " + j.scope.Devices(),
		Hint:    "Wait until the rollout is over, or ask somebody with the whole fleet."}
}

// alteredInside returns the devices for which the templates compute another result after the edit. It returns an
// error if one of them is outside of the caller's scope, or if the edit names something outside.
func (j *judgement) alteredInside(ctx context.Context) ([]fleet.DeviceID, error) {
	if j.o.Planner == nil || j.isForWholeFleet() {
		return nil, fleet.OutOfScope("that is for the whole fleet, and this token is for " + j.scope.Devices() + " only")
	}
	if _, _, err := j.now.Within(j.scope).Edited(j.edit); err != nil {
		return nil, err
	}
	then, err := j.afterwards()
	if err != nil {
		return nil, err
	}
	if j.readsPeersAnew(then) {
		return nil, errReadsPeers
	}
	ctx, cancel := context.WithTimeout(ctx, judgeTime)
	defer cancel()
	altered, err := j.o.Planner.Altered(ctx, j.now, then)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(altered, j.isOutside) || j.decidesOutside(then) {
		return nil, fleet.OutOfScope("the change would alter devices that are not " + j.scope.Devices())
	}
	return altered, nil
}

// endsRolloutOutside reports whether an edit that touches these devices would end a rollout with members outside of
// the caller's scope.
func (j *judgement) endsRolloutOutside(ctx context.Context, touched []fleet.DeviceID) (bool, error) {
	if len(touched) == 0 {
		return false, nil
	}
	if err := j.settled(ctx); err != nil {
		return false, err
	}
	open, err := j.o.Store.OpenRollouts(ctx)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(open, func(r fleet.Rollout) bool {
		return slices.ContainsFunc(
			r.Members,
			func(m fleet.RolloutMember) bool { return slices.Contains(touched, m.Device) },
		) &&
			slices.ContainsFunc(r.Members, func(m fleet.RolloutMember) bool { return j.isOutside(m.Device) })
	}), nil
}

// settled waits until the rollout engine has begun the rollout of the newest generation, if that generation needs
// one. The edit is made only in this generation, so no other rollout begins before it.
func (j *judgement) settled(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	for {
		admission, err := j.o.Store.Admission(ctx)
		if err != nil || admission.Settled().Generation >= j.now.Generation {
			return err
		}
		select {
		case <-time.After(settleAgain):
		case <-ctx.Done():
			return fleet.ChangedMeanwhile(ctx.Err())
		}
	}
}

// isForWholeFleet reports whether the edit changes something that is not tied to devices, or that concerns every
// device. Revocations are among these, because any daemon could introduce a revoked device again.
func (j *judgement) isForWholeFleet() bool {
	e := j.edit
	return e.Undo != nil || e.Forget != "" || e.Files.Source != "" || e.Files.Kept != nil || e.Files.Adopts() ||
		len(e.Protect)+len(e.Modes)+len(e.Files.Tests)+len(e.Revoke)+len(e.Readmit) > 0
}

// decidesOutside reports whether the edit registers or replaces a device outside of the caller's scope, or changes a
// decision about one, such as its settings, tags or vars.
func (j *judgement) decidesOutside(then *fleet.Registry) bool {
	for _, put := range j.edit.Put {
		if !j.scope.Covers(tagsIn(then, put.Device.ID)) || !j.isNew(put.Device.ID) && j.isOutside(put.Device.ID) {
			return true
		}
	}
	if e := j.edit.Enroll; e != nil && (!j.isNew(e.Device.ID) || !j.scope.Covers(e.Tags)) {
		return true
	}
	for id, was := range j.now.Devices {
		is := then.Devices[id]
		if !j.isOutside(id) {
			continue
		}
		if is == nil || is.Settings != was.Settings || is.Label != was.Label || !slices.Equal(is.Tags, was.Tags) ||
			then.VarsOf(id) != j.now.VarsOf(id) || !slices.Equal(then.RootsOf(id), j.now.RootsOf(id)) {
			return true
		}
	}
	return false
}

func (j *judgement) isNew(id fleet.DeviceID) bool { return j.now.Devices[id] == nil }

func tagsIn(r *fleet.Registry, id fleet.DeviceID) []fleet.Tag {
	if device := r.Devices[id]; device != nil {
		return device.Tags
	}
	return nil
}
