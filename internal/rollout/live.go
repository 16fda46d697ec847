package rollout

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// live is a rollout that is not over, with what was seen of its devices. The state is guarded by Runner.acting for
// writing and by Runner.mu for reading from elsewhere.
type live struct {
	state
	member map[fleet.DeviceID]bool
	since  time.Time                              // since when it is looked after: its start, or Muster's
	watch  map[fleet.DeviceID]fleet.RolloutMember // of an undo: who is to come back, as they were
	undone *fleet.Registry                        // of an undo: templates and tags at its generation
	back   map[fleet.DeviceID]bool                // of an undo: who was seen to be back; guarded by Runner.acting

	admittedBefore map[fleet.DeviceID]bool // by rollouts beyond the blast limit that this one took over; not changed any more

	untried   int       // members of whom it is not known whether they can be reached; guarded by Runner.acting, for candidates
	untriedAt time.Time // since when there are so many
	tryingAt  time.Time // since when there are any, beside one that is ready

	mu     sync.Mutex // guards what follows
	checks map[fleet.DeviceID]*check
}

// check is what was found out about one device last.
type check struct {
	fact     fact
	away     fact      // of who is not watched now, with unwatched set: it stands for the fact
	at       time.Time // of the last inspection; zero: none yet
	observed string    // digest of the configuration that was inspected
	dirty    bool      // something changed since
	running  bool      // an inspection is under way
	touched  bool
	proven   bool // it was read back with an empty plan at the rollout's generation: how it stands is about that one
	held     heldPlan
	giving   giving // of the answer to what is held
}

func newLive(rollout fleet.Rollout, now time.Time) *live {
	l := &live{state: state{Rollout: rollout}, member: map[fleet.DeviceID]bool{}, since: now, checks: map[fleet.DeviceID]*check{}}
	for _, m := range rollout.Members {
		l.member[m.Device] = true
	}
	return l
}

// notice takes news about a device.
func (l *live) notice(id fleet.DeviceID) (concerned bool) {
	if !l.member[id] && l.Status != fleet.RolloutUndoing {
		return false // of an undo anybody may be one that comes back
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.check(id).dirty = true
	return true
}

// answered takes that a person answered what waits on a device: what came of earlier answers does not matter.
func (l *live) answered(id fleet.DeviceID) {
	l.notice(id)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.check(id).giving = giving{}
}

// applied takes an intent that was finished.
func (l *live) applied(intent fleet.Intent) {
	generation := max(l.Generation, l.UndoneBy)
	if intent.Generation < generation || !l.member[intent.Device] && l.Status != fleet.RolloutUndoing {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.check(intent.Device)
	c.touched = true
	c.proven = c.proven || intent.Outcome == fleet.OutcomeApplied
}

// ahead tells whether a device was admitted by a rollout beyond the blast limit that this one took over: it is at its
// changes, and still waits for consent to them.
func (l *live) ahead(h fleet.Hold) bool {
	return l.Blast != "" && h.Generation > l.Before && l.admittedBefore[h.Device]
}

// unanswered tells whether an admitted member may wait for consent still.
func (l *live) unanswered(m fleet.RolloutMember) bool {
	if !l.Admitted(m) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.check(m.Device).fact.kind != factGood
}

func (l *live) check(id fleet.DeviceID) *check {
	c := l.checks[id]
	if c == nil {
		c = &check{fact: unseen}
		l.checks[id] = c
	}
	return c
}

// stands is how a device is seen, for a person.
func (c *check) stands() fact {
	if c.away.unwatched {
		return c.away
	}
	return c.fact
}

// drive does what is due for one rollout and says when to look again. The caller holds acting.
func (r *Runner) drive(ctx context.Context, l *live, pool *pool) time.Duration {
	now := time.Now()
	switch l.Status {
	case fleet.RolloutWaiting:
		if candidates := r.candidates(l, now); candidates != nil {
			next, c := l.start(candidates, now)
			r.commit(ctx, l, next, c)
		}
		return restEvery
	case fleet.RolloutRunning, fleet.RolloutPaused:
		next, c := l.look(r.gather(ctx, l, pool, now), r.rules, now)
		r.commit(ctx, l, next, c)
		return lookEvery
	case fleet.RolloutUndoing:
		if l.UndoneBy > r.settled.Generation {
			return lookEvery
		}
		if err := r.beginUndo(ctx, l); err != nil {
			r.log.Warn("undo waits", "rollout", l.ID, logkey.Err(err))
			return lookEvery
		}
		next, c := l.ended(r.returning(ctx, l, pool, now), now)
		r.commit(ctx, l, next, c)
		return lookEvery
	}
	return time.Hour
}

// candidates are the devices that wait for a rollout, as they are now; nil while it is being found out who can be reached,
// or nobody can.
func (r *Runner) candidates(l *live, now time.Time) []candidate {
	var candidates []candidate
	untried, ready := 0, false
	for _, m := range l.Members {
		s := r.o.Fleet.Standing(m.Device)
		l.standsBy(m.Device, s)
		hold, held := r.holds[m.Device]
		if !held {
			continue // deleted
		}
		c := candidate{device: m.Device, ready: s.Online && s.Mode == fleet.ModeOn && !s.TooOld, was: s.Configuration, errors: slices.Sorted(maps.Keys(s.Errors))}
		if l.ahead(hold) {
			c.held = m.Held // what waits there by now may be what this rollout has to ask for
		} else {
			for _, change := range r.o.Fleet.Waiting(m.Device) {
				c.held = append(c.held, r.sameWish(change))
			}
		}
		c.healthy = c.ready && len(s.Errors) == 0 && (s.Configuration == fleet.ConfigInSync || s.Configuration == fleet.ConfigUnmanaged)
		if !s.Tried && s.Mode != fleet.ModePaused {
			untried++
		}
		ready = ready || c.ready
		candidates = append(candidates, c)
	}
	if l.untried == 0 || !ready {
		l.tryingAt = now
	}
	if untried != l.untried {
		l.untried, l.untriedAt = untried, now
	}
	if !ready || untried > 0 && now.Sub(l.untriedAt) < startGrace && now.Sub(l.tryingAt) < startMost {
		return nil
	}
	return candidates
}

// standsBy notes whether a device is watched.
func (l *live) standsBy(id fleet.DeviceID, s Standing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.check(id).away = unwatched(s)
}

// commit keeps what a step changed and makes it known. What could not be kept did not happen: the step is taken again.
func (r *Runner) commit(ctx context.Context, l *live, next state, c command) {
	if !c.persist {
		r.publish(func() { l.state = next })
		return
	}
	r.stepHook(c.steps...)
	kept := next.Rollout
	if !c.members {
		kept.Members = nil
	}
	write := fleet.RolloutWrite{Rollouts: []fleet.Rollout{kept}, Release: c.admit}
	for _, id := range c.hold {
		write.Hold = append(write.Hold, fleet.Hold{Device: id, Generation: next.Before, Rollout: next.ID})
	}
	past := r.pasts[next.Before]
	var err error
	if len(write.Hold) > 0 && past == nil {
		past, err = r.o.Store.RegistryAt(ctx, next.Before)
	}
	if err == nil {
		_, err = r.o.Store.PutRollouts(ctx, write)
	}
	if err != nil {
		r.log.Warn("rollout waits", "rollout", next.ID, logkey.Err(err))
		return
	}
	r.publish(func() {
		l.state = next
		for _, h := range write.Hold {
			r.holds[h.Device], r.pasts[h.Generation] = h, past
		}
		for _, id := range c.admit {
			delete(r.holds, id)
		}
		if next.Status.Over() {
			delete(r.live, next.ID)
		}
	})
	r.stepHook(c.stepsEnd...)
	if len(c.admit)+len(c.hold) > 0 {
		r.o.Fleet.Wake(append(c.admit, c.hold...))
	}
	r.changed(next.Rollout)
}

// gather is what is seen of the admitted members now. What has to be found out is on its way then.
func (r *Runner) gather(ctx context.Context, l *live, pool *pool, now time.Time) map[fleet.DeviceID]fact {
	members := l.admitted()
	facts := make(map[fleet.DeviceID]fact, len(members))
	var away []fleet.DeviceID
	for _, m := range members {
		f := r.see(l, m, l.Generation, pool, now)
		if f.kind == factAway && !f.touched {
			away = append(away, m.Device)
		}
		facts[m.Device] = f
	}
	if len(away) == 0 {
		return facts
	}
	touched, err := r.o.Store.Touched(ctx, l.Carries[0])
	for _, id := range away {
		f := facts[id]
		f.touched = err != nil || touched[id] // not known counts as touched: nothing is decided before its patience is over
		facts[id] = f
	}
	return facts
}

// see is how one device stands, for a rollout that asks it to be at a generation.
func (r *Runner) see(l *live, m fleet.RolloutMember, generation int64, pool *pool, now time.Time) fact {
	s := r.o.Fleet.Standing(m.Device)
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.check(m.Device)
	if s.Gone {
		return fact{kind: factGone}
	}
	if c.away = unwatched(s); c.away.unwatched {
		c.dirty, c.observed = true, ""
		return c.away
	}
	if !s.Online {
		c.dirty, c.observed = true, "" // whatever was seen of it is seen again first
		return fact{kind: factAway, touched: c.touched, saw: s.Reason}
	}
	for _, folder := range slices.Sorted(maps.Keys(s.Errors)) {
		if !slices.Contains(m.Errors, folder) && l.Status != fleet.RolloutUndoing {
			return fact{kind: factFailed, gate: fleet.GateFolders, saw: fmt.Sprintf("folder %q is in error: %s", folder, s.Errors[folder])}
		}
	}
	busy := s.Configuration == fleet.ConfigApplying
	settled := s.Configuration == fleet.ConfigInSync || s.Configuration == fleet.ConfigUnmanaged
	if c.proven && settled && s.Summarised {
		c.fact, c.observed, c.dirty = fact{kind: factGood}, s.Digest, false
	}
	good := c.fact.kind == factGood && c.observed == s.Digest && !busy
	if good && (!c.dirty || settled && s.Summarised) {
		return c.fact
	}
	waited, patience := now.Sub(c.at), inspectAgain
	if c.at.IsZero() {
		waited = now.Sub(later(l.since, l.WaveAt))
		patience = max(inspectAgain, min(time.Duration(len(l.Members))*inspectShare, r.rules.patience/2))
	}
	if !c.running && !busy && (c.dirty && waited >= lookEvery || waited >= patience) {
		c.running, c.dirty = true, false
		if !pool.start(func(ctx context.Context) { r.inspect(ctx, l, m, c, generation) }) {
			c.running, c.dirty = false, true
		}
	}
	switch {
	case c.fact.kind == factUnseen && busy:
		return fact{kind: factPending, saw: s.Reason}
	case c.fact.kind == factGood && !good:
		return fact{kind: factPending, saw: "its configuration changed"}
	}
	return c.fact // of a good one that has news: until it is known better. Every status is news
}

// unwatched is how a device is seen that nobody watches, because its mode is paused, or because it was until now, or
// Muster has just started. It is neither away nor late: nobody knows.
func unwatched(s Standing) fact {
	switch {
	case s.Mode == fleet.ModePaused:
		return fact{kind: factHeld, unwatched: true, saw: "its mode is paused: it is neither watched nor written to"}
	case !s.Online && !s.Tried:
		return fact{kind: factUnseen, unwatched: true, saw: s.Reason}
	}
	return fact{}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
