package rollout

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	judgeAfter   = 20 * time.Millisecond // pause after a change of a device, because one write shows in several steps
	startGrace   = 10 * time.Second      // how long a start waits for one more device to be tried
	startLongest = 5 * time.Minute       // and for all together: to find devices without an address may take hours
	saveAgain    = 5 * time.Second       // pause after the store could not be written
)

// Runner settles accepted changes (it decides who is admitted to them) and drives rollouts. Events drive the Runner:
// DeviceChanged has one device judged anew, and each rollout has one timer.
//
// Locks are taken in the order deciding, mu, changes.mu. The store is called with deciding held, and never with one
// of the others.
type Runner struct {
	o       Options
	log     *slog.Logger
	now     func() time.Time
	wake    chan struct{} // its capacity is 1
	changes changes

	deciding  sync.Mutex // held while anything is decided and written; guards catalog and uncertain
	catalog   *catalog
	uncertain bool // A write failed, so the store may have another state than the Runner.

	mu   sync.RWMutex    // guards live for callers that do not hold deciding
	live map[int64]*live // rollouts that are not over
}

// changes are the devices that have to be judged anew.
type changes struct {
	mu       sync.Mutex              // guards the rest
	followed map[fleet.DeviceID]bool // devices whose changes matter to some rollout
	changed  map[fleet.DeviceID]bool
	due      bool                    // A timer has the devices judged soon.
	put      map[fleet.DeviceID]bool // devices that may have been deleted, or registered again
}

// New makes a Runner. The caller calls Load next, then Run.
func New(o Options) *Runner {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Runner{
		o: o, log: o.Log.With(logkey.Component, "rollout"), now: time.Now,
		wake: make(chan struct{}, 1), live: map[int64]*live{},
		changes: changes{changed: map[fleet.DeviceID]bool{}, put: map[fleet.DeviceID]bool{}},
	}
}

// policy returns the policy that holds now. A wave that is being watched is watched by the new times, and a rollout
// that waits for approval goes on waiting.
func (r *Runner) policy() Policy {
	if r.o.PolicyNow != nil {
		return r.o.PolicyNow().withDefaults()
	}
	return r.o.Policy.withDefaults()
}

// Load reads the rollouts that are not over.
func (r *Runner) Load(ctx context.Context) error {
	r.deciding.Lock()
	defer r.deciding.Unlock()
	return r.load(ctx)
}

// Run settles changes and drives rollouts until ctx ends.
func (r *Runner) Run(ctx context.Context) error {
	for {
		timer := time.NewTimer(time.Until(r.step(ctx)))
		select {
		case <-r.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// Wake tells the Runner that a generation was committed. Run then settles it.
func (r *Runner) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// DeviceChanged has a device judged anew, because its standing may have changed. It never blocks for long.
func (r *Runner) DeviceChanged(id fleet.DeviceID) {
	r.changes.mu.Lock()
	defer r.changes.mu.Unlock()
	if !r.changes.followed[id] {
		return
	}
	r.changes.changed[id] = true
	if !r.changes.due {
		r.changes.due = true
		time.AfterFunc(judgeAfter, r.Wake)
	}
}

// DevicePut tells the Runner that a device was stored or deleted. It never blocks for long.
func (r *Runner) DevicePut(id fleet.DeviceID) {
	r.changes.mu.Lock()
	r.changes.put[id] = true
	r.changes.mu.Unlock()
	r.DeviceChanged(id)
	r.Wake()
}

// AllChanged has all devices judged, because a mode of the fleet or of a tag changed, or what is revoked.
func (r *Runner) AllChanged() {
	r.changes.mu.Lock()
	maps.Copy(r.changes.changed, r.changes.followed)
	r.changes.mu.Unlock()
	r.Wake()
}

// follow sets the devices whose changes matter now to the members of live rollouts, and has all of these judged anew.
// The caller holds deciding.
func (r *Runner) follow() {
	followed := map[fleet.DeviceID]bool{}
	for _, l := range r.live {
		for _, id := range l.followed() {
			followed[id] = true
		}
	}
	r.changes.mu.Lock()
	defer r.changes.mu.Unlock()
	maps.Copy(r.changes.changed, followed)
	r.changes.followed = followed
}

// step does everything that is due. It returns when something is due next if nothing wakes the Runner before.
func (r *Runner) step(ctx context.Context) time.Time {
	r.deciding.Lock()
	defer r.deciding.Unlock()
	next, err := r.decide(ctx)
	if err != nil {
		if ctx.Err() == nil {
			r.log.Warn("rollouts and accepted changes wait", logkey.Err(err))
		}
		return r.now().Add(saveAgain)
	}
	return next
}

// decide does the work of step. After an error nothing is decided before everything was read again.
func (r *Runner) decide(ctx context.Context) (next time.Time, err error) {
	if err := r.settle(ctx); err != nil {
		return next, err
	}
	if err := r.dropLost(ctx); err != nil {
		return next, err
	}
	next = r.now().Add(time.Hour)
	for again := true; again; {
		if err := r.judge(ctx); err != nil {
			return next, err
		}
		again = false
		for _, id := range r.liveIDs() {
			moved, at, err := r.drive(ctx, r.live[id])
			if err != nil {
				return next, fmt.Errorf("rollout %d: %w", id, err)
			}
			again = again || moved
			if !at.IsZero() && at.Before(next) {
				next = at
			}
		}
	}
	return next, nil
}

// dropLost takes devices out of their rollouts that were deleted, also when they were registered again, or that are
// revoked. The caller holds deciding.
func (r *Runner) dropLost(ctx context.Context) error {
	r.changes.mu.Lock()
	put := r.changes.put
	r.changes.put = map[fleet.DeviceID]bool{}
	r.changes.mu.Unlock()
	registry, err := r.o.Store.Registry(ctx)
	if err != nil {
		return err
	}
	for _, id := range r.liveIDs() {
		l := r.live[id]
		deleted, revoked := map[fleet.DeviceID]bool{}, map[fleet.DeviceID]bool{}
		for device := range put {
			if i, is := l.index[device]; is {
				deleted[device] = !isRegistered(registry, l.Members[i])
			}
		}
		for device := range registry.Revocations {
			if i, is := l.index[device]; is && !l.Members[i].Left() {
				revoked[device] = true
			}
		}
		if len(deleted)+len(revoked) == 0 {
			continue
		}
		if next, c := drop(l.Rollout, deleted, revoked); c.write {
			if err := r.commit(ctx, l, next, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// judge notes how the changed devices stand now. The caller holds deciding.
func (r *Runner) judge(ctx context.Context) error {
	registry, err := r.o.Store.Registry(ctx)
	if err != nil {
		return err
	}
	r.changes.mu.Lock()
	changed := r.changes.changed
	r.changes.changed, r.changes.due = map[fleet.DeviceID]bool{}, false
	r.changes.mu.Unlock()
	now := r.now()
	standings := make(map[fleet.DeviceID]fleet.Standing, len(changed))
	for id := range changed {
		standings[id] = r.o.Fleet.Standing(id)
	}
	for _, l := range r.live {
		touched := r.touchedBy(ctx, l)
		for id, s := range standings {
			if i, is := l.index[id]; is && !isRegistered(registry, l.Members[i]) {
				continue // dropLost takes it out soon
			}
			if f, matters := l.judge(id, s, touched); matters {
				r.mu.Lock()
				l.observe(id, s, f, now)
				r.mu.Unlock()
			}
		}
	}
	return nil
}

// touchedBy returns a function that reports whether anything was, or may have been, sent to a device since the
// rollout admitted it. Where the store cannot tell, a device counts as touched: then nothing is decided about it
// before the deadline.
func (r *Runner) touchedBy(ctx context.Context, l *live) func(fleet.DeviceID) bool {
	return func(id fleet.DeviceID) bool {
		touched, err := r.o.Store.Touched(ctx, id, l.Generation)
		return err != nil || touched
	}
}

// drive does what is due for one rollout. moved reports whether the rollout changed, next when something is due
// again. The caller holds deciding.
func (r *Runner) drive(ctx context.Context, l *live) (moved bool, next time.Time, err error) {
	now := r.now()
	var after fleet.Rollout
	var c command
	switch {
	case isEmpty(l.Rollout):
		after, c = succeed(l.Rollout, now)
	case l.Status == fleet.RolloutWaiting:
		at := l.waiting.startsAt()
		if at.IsZero() || l.Unapproved() {
			return false, time.Time{}, nil
		}
		if at.After(now) {
			return false, at, nil
		}
		admission, err := r.o.Store.Admission(ctx)
		if err != nil {
			return false, at, err
		}
		held := func(id fleet.DeviceID) bool { h, held := admission.Hold(id); return held && h.Rollout == l.ID }
		after, c = start(l.Rollout, l.candidates(r.o.Fleet.Standing, held), now)
	default:
		after, c = advance(l.Rollout, &l.progress, r.policy().rules(), now)
	}
	if !c.write {
		return false, due(l.Rollout, &l.progress, r.policy().rules()), nil
	}
	return true, time.Time{}, r.commit(ctx, l, after, c)
}

func (r *Runner) liveIDs() []int64 { return slices.Sorted(maps.Keys(r.live)) }

func (r *Runner) stepHook(names ...string) {
	if r.o.Step == nil {
		return
	}
	for _, name := range names {
		r.o.Step(name)
	}
}

// changed calls Options.Changed with a rollout.
func (r *Runner) changed(rollout fleet.Rollout) {
	r.log.Info("rollout", "rollout", rollout.ID, "status", rollout.Status, "wave", rollout.Wave, logkey.Reason,
		rollout.Reason)
	if r.o.Changed != nil {
		r.o.Changed(rollout)
	}
}
