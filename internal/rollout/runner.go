package rollout

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	startGrace   = 10 * time.Second // to learn of one more device whether it can be reached
	startLongest = 5 * time.Minute  // and of all together: to find those without an address may take hours
	saveAgain    = 5 * time.Second  // after the store could not be written
)

// Runner settles accepted changes, that is, it decides who is admitted to them, and drives rollouts. It is driven by
// events: DeviceChanged judges one device anew, and each rollout has one timer.
//
// The order of its locks is deciding, mu, changes.mu. The store is called with deciding held, and never with another.
type Runner struct {
	o       Options
	log     *slog.Logger
	rules   rules
	now     func() time.Time
	wake    chan struct{} // of capacity 1
	changes changes

	deciding sync.Mutex // held while anything is decided and kept; guards catalog
	catalog  *catalog

	mu   sync.RWMutex    // guards live, for those that do not hold deciding
	live map[int64]*live // rollouts that are not over
}

// changes are the devices that have to be judged anew.
type changes struct {
	mu       sync.Mutex              // guards the rest
	followed map[fleet.DeviceID]bool // devices whose changes matter to some rollout
	changed  map[fleet.DeviceID]bool
}

// New makes a Runner. Load comes next, then Run.
func New(o Options) *Runner {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.SoakTime == 0 {
		o.SoakTime = DefaultSoakTime
	}
	if o.ProgressDeadline == 0 {
		o.ProgressDeadline = DefaultProgressDeadline
	}
	if o.Waves == nil {
		o.Waves = DefaultWaves
	}
	return &Runner{
		o: o, log: o.Log.With(logkey.Component, "rollout"), rules: rules{o.SoakTime, o.ProgressDeadline},
		now: time.Now, wake: make(chan struct{}, 1), changes: changes{changed: map[fleet.DeviceID]bool{}},
		live: map[int64]*live{},
	}
}

// Load reads the rollouts that are not over.
func (r *Runner) Load(ctx context.Context) error {
	admission, err := r.o.Store.Admission(ctx)
	if err != nil {
		return err
	}
	open, err := r.o.Store.OpenRollouts(ctx)
	if err != nil {
		return err
	}
	r.deciding.Lock()
	defer r.deciding.Unlock()
	r.mu.Lock()
	r.catalog = newCatalog(admission.Settled())
	for _, rollout := range open {
		r.live[rollout.ID] = newLive(rollout, r.now())
	}
	r.mu.Unlock()
	r.follow()
	return nil
}

// Run settles and drives until ctx ends.
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

// Wake says that there may be something to do: a generation was committed.
func (r *Runner) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// DeviceChanged says that a device may stand otherwise than before. It never blocks for long.
func (r *Runner) DeviceChanged(id fleet.DeviceID) {
	r.changes.mu.Lock()
	matters := r.changes.followed[id]
	if matters {
		r.changes.changed[id] = true
	}
	r.changes.mu.Unlock()
	if matters {
		r.Wake()
	}
}

// AllChanged says that every device may stand otherwise, because a mode of the fleet or of a tag changed.
func (r *Runner) AllChanged() {
	r.changes.mu.Lock()
	maps.Copy(r.changes.changed, r.changes.followed)
	r.changes.mu.Unlock()
	r.Wake()
}

// follow has the changes of those devices reported that matter now, and all of them judged anew. The caller holds
// deciding.
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

// step does everything that is due, and says when to look again without being woken.
func (r *Runner) step(ctx context.Context) time.Time {
	r.deciding.Lock()
	defer r.deciding.Unlock()
	if err := r.settle(ctx); err != nil {
		if ctx.Err() == nil {
			r.log.Warn("accepted changes wait", logkey.Err(err))
		}
		return r.now().Add(saveAgain)
	}
	next := r.now().Add(time.Hour)
	for again := true; again; {
		r.judge(ctx)
		again = false
		for _, id := range r.liveIDs() {
			moved, at, err := r.drive(ctx, r.live[id])
			if err != nil {
				r.log.Warn("rollout waits", "rollout", id, logkey.Err(err))
				at = r.now().Add(saveAgain)
			}
			again = again || moved
			if !at.IsZero() && at.Before(next) {
				next = at
			}
		}
	}
	return next
}

// judge notes how the devices stand that changed. The caller holds deciding.
func (r *Runner) judge(ctx context.Context) {
	r.changes.mu.Lock()
	changed := r.changes.changed
	r.changes.changed = map[fleet.DeviceID]bool{}
	r.changes.mu.Unlock()
	if len(changed) == 0 {
		return
	}
	now := r.now()
	standings := make(map[fleet.DeviceID]Standing, len(changed))
	for id := range changed {
		standings[id] = r.o.Fleet.Standing(id)
	}
	for _, l := range r.live {
		touched := r.touchedBy(ctx, l)
		for id, s := range standings {
			if f, matters := l.judge(id, s, touched); matters {
				r.mu.Lock()
				l.observe(id, s, f, now)
				r.mu.Unlock()
			}
		}
	}
}

// touchedBy tells whether something was sent to a device, or may have been, since a rollout admitted it. What is not
// known counts as touched: nothing is decided before the deadline then.
func (r *Runner) touchedBy(ctx context.Context, l *live) func(fleet.DeviceID) bool {
	return func(id fleet.DeviceID) bool {
		touched, err := r.o.Store.Touched(ctx, id, l.Generation)
		return err != nil || touched
	}
}

// drive does what is due for one rollout. It tells whether the rollout moved, and when something is due next. The
// caller holds deciding.
func (r *Runner) drive(ctx context.Context, l *live) (moved bool, next time.Time, err error) {
	now := r.now()
	var after fleet.Rollout
	var c command
	if l.Status == fleet.RolloutWaiting {
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
	} else {
		after, c = advance(l.Rollout, &l.tally, r.rules, now)
	}
	if !c.keep {
		return false, due(l.Rollout, &l.tally, r.rules), nil
	}
	return true, time.Time{}, r.commit(ctx, l, after, c)
}

// commit keeps what a step changed and makes it known. What could not be kept did not happen. The caller holds
// deciding.
func (r *Runner) commit(ctx context.Context, l *live, next fleet.Rollout, c command) error {
	kept := next
	if !c.members {
		kept.Members = nil
	}
	write := fleet.RolloutWrite{Rollouts: []fleet.Rollout{kept}, Release: c.admit, Wake: slices.Clone(c.admit)}
	for _, m := range c.hold {
		write.Hold = append(write.Hold, fleet.Hold{Device: m.Device, Generation: m.From, Rollout: next.ID})
		write.Wake = append(write.Wake, m.Device)
	}
	r.stepHook(c.before...)
	if _, err := r.o.Store.PutRollouts(ctx, write); err != nil {
		return err
	}
	r.mu.Lock()
	l.replace(next, c, r.now())
	if next.Status.Over() {
		delete(r.live, next.ID)
	}
	r.mu.Unlock()
	r.follow()
	r.stepHook(c.after...)
	r.changed(next)
	return nil
}

// keep writes what a settlement or an undo decided, and follows the new rollouts. The caller holds deciding.
func (r *Runner) keep(ctx context.Context, write fleet.RolloutWrite, now time.Time) error {
	begins := slices.ContainsFunc(write.Rollouts, func(rollout fleet.Rollout) bool { return rollout.ID == 0 })
	if begins {
		r.stepHook(StepBeforeSettle)
	}
	created, err := r.o.Store.PutRollouts(ctx, write)
	if err != nil {
		return err
	}
	r.adopt(write.Rollouts, created, now)
	if begins {
		r.stepHook(StepAfterSettle)
	}
	return nil
}

// adopt takes the rollouts of a write that was kept. The caller holds deciding.
func (r *Runner) adopt(written []fleet.Rollout, created []int64, now time.Time) {
	r.mu.Lock()
	for i := range written {
		w := &written[i]
		if w.ID != 0 {
			delete(r.live, w.ID)
			continue
		}
		w.ID, created = created[0], created[1:]
		w.CreatedAt = now
		r.live[w.ID] = newLive(*w, now)
	}
	r.mu.Unlock()
	if len(written) > 0 {
		r.follow()
	}
	for _, w := range written {
		r.changed(w)
	}
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

// changed tells those who follow how a rollout stands.
func (r *Runner) changed(rollout fleet.Rollout) {
	r.log.Info("rollout", "rollout", rollout.ID, "status", rollout.Status, "wave", rollout.Wave, logkey.Reason,
		rollout.Reason)
	if r.o.Changed != nil {
		r.o.Changed(rollout)
	}
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
