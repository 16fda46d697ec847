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
	atOnce     = 10                     // devices that a change is for at once
	lookEvery  = 100 * time.Millisecond // while a wave is under way
	restEvery  = time.Second            // while nothing can move by itself
	startGrace = 10 * time.Second       // to learn of one more device whether it can be reached
	startMost  = 5 * time.Minute        // and of all together: to find those without an address may take hours
	saveAgain  = 5 * time.Second        // after the store could not be written
)

// Runner settles accepted changes, that is, it decides who is admitted to them, and drives rollouts.
type Runner struct {
	o       Options
	log     *slog.Logger
	rules   rules
	started time.Time
	wake    chan struct{} // of capacity 1

	acting sync.Mutex // held while anything is decided; guards what follows
	world  *world
	seen   *fleet.Registry // that forget looked at last

	mu      sync.RWMutex // guards what follows; never held while something is called
	settled *fleet.Registry
	holds   map[fleet.DeviceID]fleet.Hold
	pasts   map[int64]*fleet.Registry // that holds are at
	live    map[int64]*live           // rollouts that are not over
}

// New makes a Runner. Load comes next, then Run.
func New(o Options) *Runner {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Soak == 0 {
		o.Soak = DefaultSoak
	}
	if o.Patience == 0 {
		o.Patience = DefaultPatience
	}
	return &Runner{
		o: o, log: o.Log.With(logkey.Component, "rollout"), rules: rules{o.Soak, o.Patience}, wake: make(chan struct{}, 1),
		holds: map[fleet.DeviceID]fleet.Hold{}, pasts: map[int64]*fleet.Registry{}, live: map[int64]*live{},
	}
}

// Load reads where everything stood. Before it nobody may ask who is admitted to what.
func (r *Runner) Load(ctx context.Context) error {
	admission, err := r.o.Store.Admission(ctx)
	if err != nil {
		return err
	}
	open, err := r.o.Store.OpenRollouts(ctx)
	if err != nil {
		return err
	}
	r.acting.Lock()
	defer r.acting.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started, r.world, r.settled = time.Now(), newWorld(admission.Settled()), admission.Settled()
	for _, h := range admission.Holds() {
		r.holds[h.Device], r.pasts[h.Generation] = h, admission.Past(h.Generation)
	}
	for _, rollout := range open {
		l := newLive(rollout, r.started)
		if l.admittedBefore, err = r.admittedBefore(ctx, l); err != nil {
			return err
		}
		r.live[rollout.ID] = l
	}
	return nil
}

// admittedBefore are the devices that rollouts beyond the blast limit had admitted which a rollout took over. Which of
// them had consent is not kept: those wait for it once more.
func (r *Runner) admittedBefore(ctx context.Context, l *live) (map[fleet.DeviceID]bool, error) {
	admitted := map[fleet.DeviceID]bool{}
	if l.Blast == "" {
		return admitted, nil
	}
	chain, err := r.tookOver(ctx, l)
	for _, old := range chain {
		for _, m := range old.Members {
			if old.Blast != "" && old.Admitted(m) {
				admitted[m.Device] = true
			}
		}
	}
	return admitted, err
}

// Run settles and drives until ctx ends.
func (r *Runner) Run(ctx context.Context) error {
	var inspections sync.WaitGroup
	defer inspections.Wait()
	pool := &pool{ctx: ctx, slots: make(chan struct{}, inspectors), running: &inspections, wake: r.Wake}
	for {
		pause := r.step(ctx, pool)
		timer := time.NewTimer(pause)
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

// step does everything that is due, and says when to look again without being woken.
func (r *Runner) step(ctx context.Context, pool *pool) time.Duration {
	r.acting.Lock()
	defer r.acting.Unlock()
	err := r.forget(ctx)
	if err == nil {
		err = r.settle(ctx)
	}
	if err != nil {
		if ctx.Err() == nil {
			r.log.Warn("accepted changes wait", logkey.Err(err))
		}
		return saveAgain
	}
	pause := time.Hour
	for _, id := range r.liveIDs() {
		pause = min(pause, r.drive(ctx, r.live[id], pool))
	}
	return pause
}

// forget drops the holds of devices that were deleted, which the store has dropped already: one that is registered again
// under its ID is another device.
func (r *Runner) forget(ctx context.Context) error {
	registry, err := r.o.Store.Registry(ctx)
	if err != nil || registry == r.seen {
		return err
	}
	r.seen = registry
	var gone []fleet.DeviceID
	for id, h := range r.holds {
		d, was := registry.Devices[id], r.pasts[h.Generation].Devices[id]
		if d == nil || was != nil && !was.CreatedAt.Equal(d.CreatedAt) {
			gone = append(gone, id)
		}
	}
	if len(gone) > 0 {
		r.publish(func() {
			for _, id := range gone {
				delete(r.holds, id)
			}
		})
	}
	return nil
}

func (r *Runner) liveIDs() []int64 { return slices.Sorted(maps.Keys(r.live)) }

// Wake says that there may be something to do: a generation was committed.
func (r *Runner) Wake() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// HoldAll is why whatever is free on a device is held, "" when it is not: a change touches more devices than the blast
// limit allows without a person's consent.
func (r *Runner) HoldAll(id fleet.DeviceID) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, l := range r.live {
		holds := l.Status.Holds() || l.UndoneBy > r.settled.Generation // its devices still are where they were before the undo
		if l.Blast != "" && holds && l.member[id] {
			if h, held := r.holds[id]; !held || l.ahead(h) {
				return l.Blast
			}
		}
	}
	return ""
}

// Notice says that something about a device changed: its state, its folders, its configuration.
func (r *Runner) Notice(id fleet.DeviceID) {
	r.mu.RLock()
	concerned := false
	for _, l := range r.live {
		concerned = l.notice(id) || concerned
	}
	r.mu.RUnlock()
	if concerned {
		r.Wake()
	}
}

// Applied says that an intent was finished. How the device stands then is told by Notice.
func (r *Runner) Applied(intent fleet.Intent) {
	if intent.Outcome == fleet.OutcomeAbandoned {
		return
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, l := range r.live {
		l.applied(intent)
	}
}

// publish makes known what was written. The caller holds acting.
func (r *Runner) publish(do func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do()
	used := map[int64]bool{r.settled.Generation: true}
	for _, h := range r.holds {
		used[h.Generation] = true
	}
	for generation := range r.pasts {
		if !used[generation] {
			delete(r.pasts, generation)
		}
	}
}

func (r *Runner) stepHook(names ...string) {
	if r.o.Step == nil {
		return
	}
	for _, name := range names {
		r.o.Step(name)
	}
}

// changed tells whoever wants to know how a rollout stands.
func (r *Runner) changed(rollout fleet.Rollout) {
	r.log.Info("rollout", "rollout", rollout.ID, "status", rollout.Status, "wave", rollout.Wave, logkey.Reason, rollout.Reason)
	if r.o.Changed != nil {
		r.o.Changed(rollout)
	}
}
