package plan

import (
	"slices"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// Answers are the open answers of people to changes of one device, by key. The store has them, too: what is over here
// is to be ended there. Several goroutines may use them at once.
type Answers struct {
	mu     sync.Mutex // guards the rest
	open   map[string]fleet.Consent
	over   []int64 // that the store has open still
	unread bool    // the store has answers that are not here yet
}

// NewAnswers are none.
func NewAnswers() *Answers { return &Answers{open: map[string]fleet.Consent{}} }

// Put has answers count that the store has open, each in the place of what was here at its key.
func (a *Answers) Put(consents ...fleet.Consent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range consents {
		a.open[c.Key] = c
	}
}

// Arm has an answer count in the plans to come. An earlier one to its key is over.
func (a *Answers) Arm(c fleet.Consent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.end(func(old fleet.Consent) bool { return old.Key == c.Key && old.ID != c.ID })
	a.open[c.Key] = c
}

// Knows tells whether an answer, or a later one to its key, is or was here.
func (a *Answers) Knows(c fleet.Consent) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open[c.Key].ID >= c.ID || slices.Contains(a.over, c.ID)
}

// To is the answer to the change with a digest, if it counts still.
func (a *Answers) To(key stconfig.Key, digest string) (fleet.Consent, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	given, ok := a.open[key.String()]
	return given, ok && !given.Over(time.Now()) && given.Change == digest
}

// At are the answers at some keys.
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

// Any tells whether any is open.
func (a *Answers) Any() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.open) > 0
}

// Retimed are the answers whose times change because the device can be reached, or cannot.
func (a *Answers) Retimed(reachable bool, now time.Time) (changed []fleet.Consent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, was := range a.open {
		if is := was.Reachable(reachable, now); is != was && !was.Over(now) {
			changed = append(changed, is)
		}
	}
	return changed
}

// PutTimes takes the times of those that are open still.
func (a *Answers) PutTimes(retimed []fleet.Consent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range retimed {
		if a.open[c.Key].ID == c.ID {
			a.open[c.Key] = c
		}
	}
}

// Used forgets answers that the store has closed.
func (a *Answers) Used(used []fleet.Consent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range used {
		delete(a.open, c.Key)
	}
}

// End forgets the answers that are over; Ended gives them.
func (a *Answers) End(over func(fleet.Consent) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.end(over)
}

// end is End. The caller holds mu.
func (a *Answers) end(over func(fleet.Consent) bool) {
	for key, c := range a.open {
		if over(c) {
			delete(a.open, key)
			a.over = append(a.over, c.ID)
		}
	}
}

// EndAll forgets the answers with these IDs.
func (a *Answers) EndAll(ids []int64) {
	a.End(func(c fleet.Consent) bool { return slices.Contains(ids, c.ID) })
}

// Ended gives the IDs of those that the store is to end, once.
func (a *Answers) Ended() []int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	over := a.over
	a.over = nil
	return over
}

// NotEnded has Ended give them again: the store did not end them.
func (a *Answers) NotEnded(ids []int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = append(a.over, ids...)
}

// SetUnread says whether the store has answers that are not here yet. It gives what was so before.
func (a *Answers) SetUnread(unread bool) (was bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	was, a.unread = a.unread, unread
	return was
}
