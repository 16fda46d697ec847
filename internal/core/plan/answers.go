package plan

import (
	"maps"
	"slices"
	"sync"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Answers are the open answers of people to changes of one device. The store keeps them too, so an answer that ends
// here must also be ended in the store (see Ended). An Answers is safe for concurrent use.
type Answers struct {
	mu     sync.Mutex               // guards the rest
	open   map[string]fleet.Consent // answers by the key of the change
	over   []int64                  // IDs of answers that ended here and that the store still has as open
	unread bool                     // The store has answers that were not read yet.
}

// NewAnswers makes an empty set.
func NewAnswers() *Answers { return &Answers{open: map[string]fleet.Consent{}} }

// Put adds answers that the store has as open. Each replaces the earlier answer to its key.
func (a *Answers) Put(consents ...fleet.Consent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range consents {
		a.open[c.Key] = c
	}
}

// Arm adds an answer for later plans to use. An earlier answer to the same key ends, so Ended returns it.
func (a *Answers) Arm(c fleet.Consent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.end(func(old fleet.Consent) bool { return old.Key == c.Key && old.ID != c.ID })
	a.open[c.Key] = c
}

// Knows reports whether this answer needs no loading: this answer or a later one to the same key is open here, or
// this answer ended here and Ended has not returned it yet. An answer that was used is not known.
func (a *Answers) Knows(c fleet.Consent) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open[c.Key].ID >= c.ID || slices.Contains(a.over, c.ID)
}

// To returns the open answer to this change of a device.
func (a *Answers) To(c Change, id fleet.DeviceID, digestKey []byte) (fleet.Consent, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	given, ok := a.open[c.Key.String()]
	return given, ok && !given.Over(time.Now()) && c.IsAnsweredBy(given, id, digestKey)
}

// Open returns the open answers by key, nil where no answer is open.
func (a *Answers) Open() map[string]fleet.Consent {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.open) == 0 {
		return nil
	}
	return maps.Clone(a.open)
}

// At returns the open answers to these keys.
func (a *Answers) At(keys []stconfig.Key) (given []fleet.Consent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, key := range keys {
		if c, ok := a.open[key.String()]; ok {
			given = append(given, c)
		}
	}
	return given
}

// Any reports whether an answer is open.
func (a *Answers) Any() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.open) > 0
}

// Retimed returns the answers whose time limits change now that Muster can, or cannot, write to the device.
func (a *Answers) Retimed(writable bool, now time.Time) (changed []fleet.Consent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, was := range a.open {
		if is := was.Reachable(writable, now); is != was && !was.Over(now) {
			changed = append(changed, is)
		}
	}
	return changed
}

// PutTimes sets the time limits in retimed, the answers that Retimed returned, for those that are still open.
func (a *Answers) PutTimes(retimed []fleet.Consent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range retimed {
		if a.open[c.Key].ID == c.ID {
			a.open[c.Key] = c
		}
	}
}

// Used forgets answers that the store has closed because a change used them.
func (a *Answers) Used(used []fleet.Consent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range used {
		delete(a.open, c.Key)
	}
}

// End ends the answers for which over is true. Their IDs come with the next Ended.
func (a *Answers) End(over func(fleet.Consent) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.end(over)
}

// end does what End does, for callers that hold mu.
func (a *Answers) end(over func(fleet.Consent) bool) {
	for key, c := range a.open {
		if over(c) {
			delete(a.open, key)
			a.over = append(a.over, c.ID)
		}
	}
}

// EndAll ends the answers with these IDs.
func (a *Answers) EndAll(ids []int64) {
	a.End(func(c fleet.Consent) bool { return slices.Contains(ids, c.ID) })
}

// Ended returns the IDs of answers that ended here, for the caller to end them in the store. It gives each ID once.
func (a *Answers) Ended() []int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	over := a.over
	a.over = nil
	return over
}

// NotEnded is for IDs that Ended returned and that the store could not end: the next call of Ended returns them again.
func (a *Answers) NotEnded(ids []int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = append(a.over, ids...)
}

// SetUnread sets whether the store has answers that were not read yet, and returns what was set before.
func (a *Answers) SetUnread(unread bool) (was bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	was, a.unread = a.unread, unread
	return was
}
