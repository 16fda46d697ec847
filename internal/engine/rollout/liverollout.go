package rollout

import (
	"slices"
	"time"

	"muster/internal/fleet"
)

// live is a rollout that is not over. It is written only with Runner.deciding held, and read with Runner.deciding or
// Runner.mu held.
type live struct {
	fleet.Rollout
	index    map[fleet.DeviceID]int // positions of the members, by device
	progress progress               // how the admitted members stand, while the rollout runs or is paused
	waiting  readiness              // how all members stand, while the rollout waits to start
}

func newLive(r fleet.Rollout, now time.Time) *live {
	l := &live{Rollout: r}
	l.indexMembers()
	l.progress = newProgress(len(l.followed()), now)
	return l
}

func (l *live) indexMembers() {
	l.index = make(map[fleet.DeviceID]int, len(l.Members))
	for i, m := range l.Members {
		l.index[m.Device] = i
	}
}

// isRegistered reports whether a member's device is still the one that was registered when the rollout began.
func isRegistered(r *fleet.Registry, m fleet.RolloutMember) bool {
	d := r.Devices[m.Device]
	return d != nil && d.CreatedAt.Equal(m.Registered)
}

func (l *live) has(id fleet.DeviceID) bool {
	_, is := l.index[id]
	return is
}

// followed returns the members whose standing matters now.
func (l *live) followed() []fleet.DeviceID {
	var ids []fleet.DeviceID
	for _, m := range l.Members {
		if l.follows(m) {
			ids = append(ids, m.Device)
		}
	}
	return ids
}

func (l *live) follows(m fleet.RolloutMember) bool {
	switch l.Status {
	case fleet.RolloutWaiting:
		return !m.Left() && (m.Wave == 0 || m.Wave > l.Wave)
	case fleet.RolloutRunning, fleet.RolloutPaused, fleet.RolloutHalted:
		return m.Wave > 0 && m.Wave <= l.Wave && !m.Waived
	}
	return false
}

// judge returns the fact about a member with this standing. matters is false where the rollout need not know it now.
func (l *live) judge(id fleet.DeviceID, s fleet.Standing, touched func(fleet.DeviceID) bool) (f fact, matters bool) {
	i, is := l.index[id]
	if !is || !l.follows(l.Members[i]) {
		return f, false
	}
	if l.Status == fleet.RolloutWaiting {
		return f, true
	}
	f = judge(&l.Rollout, l.Members[i], s)
	if f.kind == factAbsent && l.Undoes == 0 && (l.progress.facts[id].begun || touched(id)) {
		f.kind = factAway
	}
	return f, true
}

// observe notes the standing of a member, and the fact that follows from it, while it matters.
func (l *live) observe(id fleet.DeviceID, s fleet.Standing, f fact, now time.Time) {
	if l.Status == fleet.RolloutWaiting {
		l.waiting.observe(id, s, now)
	} else {
		l.progress.observe(id, f, now)
	}
}

// replace makes next, the state that was just stored, the present one.
func (l *live) replace(next fleet.Rollout, c command, now time.Time) {
	resumed := l.Status == fleet.RolloutHalted || l.Status == fleet.RolloutPaused
	newWave, waits := next.Wave != l.Wave, next.Status == fleet.RolloutWaiting && l.Status != fleet.RolloutWaiting
	l.Rollout = next
	if c.members {
		l.indexMembers()
	}
	for id := range l.progress.facts {
		if i, is := l.index[id]; !is || !l.follows(l.Members[i]) {
			l.progress.forget(id)
		}
	}
	l.progress.expect(len(l.followed()), now)
	if newWave || resumed {
		l.progress.restart(now)
	}
	if waits || c.members {
		l.waiting = readiness{}
	}
}

// readiness counts, for a rollout that waits to start, the members that can be reached and written to.
type readiness struct {
	facts           map[fleet.DeviceID]readinessFact
	ready, untried  int       // untried: not known yet whether they can be reached
	paused          int       // members that are paused by their mode
	untriedChanged  time.Time // time at which the number of untried members last changed
	readyWhileTried time.Time // time since which some members are ready while others are untried
}

type readinessFact struct{ ready, untried, paused bool }

func ready(s fleet.Standing) bool {
	return s.Online && s.Mode == fleet.ModeOn && !s.TooOld && !s.Gone
}

func (w *readiness) observe(id fleet.DeviceID, s fleet.Standing, now time.Time) {
	if w.facts == nil {
		w.facts = map[fleet.DeviceID]readinessFact{}
	}
	is := readinessFact{ready: ready(s), untried: !s.Tried && !s.Gone && s.Mode != fleet.ModePaused,
		paused: s.Mode == fleet.ModePaused && !s.Gone}
	was := w.facts[id]
	w.facts[id] = is
	w.ready += one(is.ready) - one(was.ready)
	w.paused += one(is.paused) - one(was.paused)
	if changed := one(is.untried) - one(was.untried); changed != 0 {
		w.untried += changed
		w.untriedChanged = now
	}
	if w.ready == 0 || w.untried == 0 {
		w.readyWhileTried = time.Time{}
	} else if w.readyWhileTried.IsZero() {
		w.readyWhileTried = now
	}
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}

// startsAt returns when the rollout may start; zero while its members do not allow a start. While some members are
// untried, the rollout waits a little for each of them.
func (w *readiness) startsAt() time.Time {
	switch {
	case w.ready == 0:
		return time.Time{}
	case w.untried == 0:
		return time.Unix(1, 0)
	}
	one, all := w.untriedChanged.Add(startGrace), w.readyWhileTried.Add(startLongest)
	if all.Before(one) {
		return all
	}
	return one
}

// candidates returns the members that are not admitted, with how they stand now.
func (l *live) candidates(standing func(fleet.DeviceID) fleet.Standing, held func(fleet.DeviceID) bool) []candidate {
	var candidates []candidate
	for _, m := range l.Members {
		if !l.follows(m) || !held(m.Device) {
			continue // The member is admitted, or its device was deleted.
		}
		s := standing(m.Device)
		m.Was, m.Errors, m.Held = s.Configuration, s.NotFine, heldOf(s)
		c := candidate{member: m, ready: ready(s)}
		c.healthy = c.ready && len(s.Errors) == 0 &&
			slices.Contains([]fleet.Configuration{fleet.ConfigInSync, fleet.ConfigUnmanaged}, s.Configuration)
		candidates = append(candidates, c)
	}
	return candidates
}
