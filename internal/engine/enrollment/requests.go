package enrollment

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"muster/internal/fleet"
)

// Requests returns the devices that wait and those that were rejected, by the time when they first asked.
func (e *Enrollments) Requests(ctx context.Context) ([]fleet.EnrollmentRequest, error) {
	registry, err := e.o.Store.Registry(ctx)
	if err != nil {
		return nil, err
	}
	all, err := e.o.Store.RejectedEnrollments(ctx)
	if err != nil {
		return nil, err
	}
	rejected := map[fleet.DeviceID]bool{}
	for _, one := range all {
		rejected[one.Device] = true
	}
	now := e.now()
	e.mu.Lock()
	e.forgetAbsent(now)
	for id, one := range e.waiting {
		if registry.Devices[id] != nil || rejected[id] {
			continue
		}
		asks := one.EnrollmentRequest
		if one.present {
			asks.LastAt = now
		}
		all = append(all, asks)
	}
	e.mu.Unlock()
	slices.SortFunc(all, CompareRequests)
	return all, nil
}

// CompareRequests returns the order of Requests.
func CompareRequests(a, b fleet.EnrollmentRequest) int {
	return cmp.Or(a.FirstAt.Compare(b.FirstAt), cmp.Compare(a.Device, b.Device))
}

// asks returns the request of a device that waits or was rejected.
func (e *Enrollments) asks(ctx context.Context, id fleet.DeviceID) (fleet.EnrollmentRequest, error) {
	e.mu.Lock()
	is := e.waiting[id]
	if is != nil {
		defer e.mu.Unlock()
		return is.EnrollmentRequest, nil
	}
	e.mu.Unlock()
	decision, err := e.o.Store.EnrollmentDecision(ctx, id)
	if err == nil && decision.Rejected == nil {
		err = fleet.NotFoundf("device %s does not ask to be accepted, or not any more", id.Short())
	}
	if err != nil {
		return fleet.EnrollmentRequest{}, err
	}
	return *decision.Rejected, nil
}

// Accept registers a device that waits or was rejected, with a label ("": the name that its agent tells, made unique)
// and tags.
func (e *Enrollments) Accept(ctx context.Context, id fleet.DeviceID, label string, tags []fleet.Tag) (fleet.Device,
	error) {
	asks, err := e.asks(ctx, id)
	if err != nil {
		return fleet.Device{}, err
	}
	stored, err := e.register(ctx, fleet.Enrollment{Device: deviceOf(asks.Arrival, label), Tags: tags,
		OwnName: label == "", Detail: fmt.Sprintf("its agent asked from %s", asks.Address)})
	if err == nil || fleet.CodeOf(err) == fleet.CodeConflict {
		e.forget(id)
	}
	return stored, err
}

// Reject refuses a device that waits, until the rejection is forgotten or the device is accepted.
func (e *Enrollments) Reject(ctx context.Context, id fleet.DeviceID) error {
	asks, err := e.asks(ctx, id)
	if err != nil || asks.Status == fleet.EnrollmentRejected {
		return err
	}
	if err := e.o.Store.RejectEnrollment(ctx, asks); err != nil {
		return err
	}
	e.forget(id)
	return nil
}

// Forget takes back the rejection of a device. The device asks again when its agent connects.
func (e *Enrollments) Forget(ctx context.Context, id fleet.DeviceID) error {
	return e.o.Store.ForgetRejection(ctx, id)
}
