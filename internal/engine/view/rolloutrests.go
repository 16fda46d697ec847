package view

import (
	"maps"
	"sync"
	"time"

	"muster/internal/fleet"
)

// restKept is how long what a rollout still does is kept. A page that is open asks for it again and again.
const restKept = 30 * time.Second

// maxRests is how many answers are kept at most. Each has a bounded number of sentences.
const maxRests = 100

// RestKey says of what a RolloutRest is.
type RestKey struct {
	Rollout    int64
	Status     fleet.RolloutStatus
	Generation int64       // The devices were planned by the registry of this generation.
	Scope      fleet.Scope // The reader sees this part of the fleet.
}

// RolloutRests keeps what rollouts still do for a short time, because each answer plans up to maxCompared devices.
type RolloutRests struct {
	mu   sync.Mutex // guards kept
	kept map[RestKey]keptRest
}

type keptRest struct {
	rest   RolloutRest
	madeAt time.Time
}

// NewRolloutRests returns a RolloutRests that keeps nothing yet.
func NewRolloutRests() *RolloutRests { return &RolloutRests{kept: map[RestKey]keptRest{}} }

// Get returns what is kept of a rollout, unless it is too old at a time. The caller does not change it.
func (r *RolloutRests) Get(of RestKey, now time.Time) (rest RolloutRest, isKept bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	one, isKept := r.kept[of]
	if !isKept || now.Sub(one.madeAt) >= restKept {
		return RolloutRest{}, false
	}
	return one.rest, true
}

// Put keeps what was made for a rollout at a time. It keeps nothing while there are too many.
func (r *RolloutRests) Put(of RestKey, rest RolloutRest, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.kept, func(_ RestKey, one keptRest) bool { return now.Sub(one.madeAt) >= restKept })
	if len(r.kept) < maxRests {
		r.kept[of] = keptRest{rest: rest, madeAt: now}
	}
}
