package change

import (
	"context"
	"slices"
	"time"

	"muster/internal/fleet"
)

// A caller may be limited to a part of the fleet. What such a caller changes is decided by what the templates make of
// the devices outside, whatever the kind of the change: nothing of it may be different afterwards. What the caller
// does not see is not there for them. No answer names a device outside.

const (
	// Settling who is admitted to an accepted change may take this long.
	settleTime  = 10 * time.Second
	settleAgain = 20 * time.Millisecond
)

// sees tells whether the caller may know of a device.
func (j *judgement) sees(id fleet.DeviceID) bool {
	device := j.now.Devices[id]
	return j.scope.Whole() || device != nil && j.scope.Covers(device.Tags)
}

func (j *judgement) isOutside(id fleet.DeviceID) bool { return !j.sees(id) }

// insidePart keeps a caller with a part of the fleet to it.
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

// alteredInside gives the devices of which the templates make something else after the edit. It is an error where one
// of them is outside, or where the edit names something outside.
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

// endsRolloutOutside tells whether a change that touches these devices would end a rollout with members outside.
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

// settled waits until the rollout of the generation in force has begun, where there is one. The edit is made in this
// generation only, so none begins before it.
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

// isForWholeFleet tells whether the edit changes something that has no devices, or that is about every device: a device
// that is revoked may be brought back by any other.
func (j *judgement) isForWholeFleet() bool {
	e := j.edit
	return e.Undo != nil || e.Forget != "" || e.Files.Source != "" || e.Files.Kept != nil || e.Files.Adopts() ||
		len(e.Protect)+len(e.Modes)+len(e.Files.Tests)+len(e.Revoke)+len(e.Readmit) > 0
}

// decidesOutside tells whether the edit registers a device outside, replaces one, or changes what is decided for one.
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
