package reconcile

import (
	"context"
	"errors"
	"sync"

	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/stconfig"
)

// Desired gives the configurations that devices would have under a registry, from what was last read of the daemons, or
// why a device would have none. Devices that were never read are left out. each is called by one goroutine at a time.
func (e *Engine) Desired(ctx context.Context, then *fleet.Registry, devices []fleet.DeviceID,
	each func(id fleet.DeviceID, desired stconfig.Value, failed error)) error {
	return e.planEach(ctx, then, devices, func(id fleet.DeviceID, j *job, failed error) {
		each(id, j.result.Desired, failed)
	})
}

// Planned gives the changes that the plans of devices have now, from what was last read of the daemons, or why a device
// has no plan. Devices that were never read are left out. each is called by one goroutine at a time, in any order.
func (e *Engine) Planned(ctx context.Context, now *fleet.Registry, devices []fleet.DeviceID,
	each func(id fleet.DeviceID, changes []plan.Change, failed error)) error {
	return e.planEach(ctx, now, devices, func(id fleet.DeviceID, j *job, failed error) {
		each(id, j.plan.Changes, failed)
	})
}

func (e *Engine) planEach(ctx context.Context, registry *fleet.Registry, devices []fleet.DeviceID,
	each func(id fleet.DeviceID, j *job, failed error)) error {
	v := e.newView(registry)
	w := whatIf{Engine: e, now: v, then: v, asking: &asking{Engine: e}}
	var mu sync.Mutex
	return forAll(ctx, len(devices), func(ctx context.Context, i int) error {
		return w.o.Memory.Do(ctx, func(ctx context.Context) error {
			j, err := w.plan(ctx, v, devices[i])
			switch {
			case errors.Is(err, errNothingSeen):
				return nil
			case err != nil && !reported(err):
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			each(devices[i], j, err)
			return nil
		})
	})
}
