package fleet

import (
	"maps"
	"slices"
	"sync"
)

// Admission tells which generation each device is admitted to: the generation of its hold, or else the settled one.
// A generation is settled when rollouts have decided which devices to hold back from it. Admission is an immutable
// snapshot that readers share.
type Admission struct {
	settled *Registry           // registry of the newest generation for which rollouts have decided
	holds   map[DeviceID]Hold   // devices that a rollout holds at an earlier generation
	pasts   map[int64]*Registry // registries of these generations
	joined  *joinedRegistries   // shared by an Admission and its successors
}

// NewAdmission makes the snapshot. pasts has the registry of every generation in holds.
func NewAdmission(settled *Registry, holds []Hold, pasts map[int64]*Registry) *Admission {
	a := &Admission{settled: settled, holds: make(map[DeviceID]Hold, len(holds)), pasts: pasts,
		joined: &joinedRegistries{made: map[pastAndCurrent]*Registry{}}}
	for _, h := range holds {
		a.holds[h.Device] = h
	}
	return a
}

// Settled returns the registry of the newest generation for which rollouts have decided who is admitted.
func (a *Admission) Settled() *Registry { return a.settled }

// Hold returns the hold of a device, or false when no rollout holds it at an earlier generation.
func (a *Admission) Hold(id DeviceID) (Hold, bool) {
	h, held := a.holds[id]
	return h, held
}

// Holds returns all holds. The map must not be changed.
func (a *Admission) Holds() map[DeviceID]Hold { return a.holds }

// At returns the registry of the generation that a device is admitted to, with the devices of that generation.
func (a *Admission) At(id DeviceID) *Registry {
	if h, held := a.holds[id]; held {
		return a.pasts[h.Generation]
	}
	return a.settled
}

// Past returns the registry of a generation that the snapshot has, or nil.
func (a *Admission) Past(generation int64) *Registry {
	if generation == a.settled.Generation {
		return a.settled
	}
	return a.pasts[generation]
}

// Same reports whether two snapshots have the same holds and the same settled generation.
func (a *Admission) Same(b *Admission) bool {
	return a.settled.Generation == b.settled.Generation && maps.Equal(a.holds, b.holds)
}

// For returns the registry of the generation that a device is admitted to, with the devices, settings and modes of
// current. It gives the same pointer while neither changed.
func (a *Admission) For(id DeviceID, current *Registry) *Registry {
	past := a.At(id)
	if past.Generation >= current.Generation {
		return current
	}
	return a.joined.join(past, current)
}

// AdmissionChange is what a commit changes in an Admission.
type AdmissionChange struct {
	Settled *Registry // nil: unchanged
	Hold    []Hold
	Release []Hold              // holds that end; a hold of another rollout stays
	Gone    []DeviceID          // deleted devices
	Pasts   map[int64]*Registry // registries of generations in Hold that the snapshot lacks
}

// After returns the snapshot after a commit.
func (a *Admission) After(c AdmissionChange) *Admission {
	next := *a
	if c.Settled != nil {
		next.settled = c.Settled
	}
	if len(c.Hold)+len(c.Release)+len(c.Gone) > 0 {
		next.holds = maps.Clone(a.holds)
		for _, id := range c.Gone {
			delete(next.holds, id)
		}
		for _, h := range c.Release {
			if next.holds[h.Device].Rollout == h.Rollout {
				delete(next.holds, h.Device)
			}
		}
		for _, h := range c.Hold {
			next.holds[h.Device] = h
		}
		next.pasts = map[int64]*Registry{}
		for _, h := range next.holds {
			if next.pasts[h.Generation] == nil {
				next.pasts[h.Generation] = a.past(h.Generation, c.Pasts)
			}
		}
	}
	next.joined.keep(append(slices.Collect(maps.Values(next.pasts)), next.settled))
	return &next
}

func (a *Admission) past(generation int64, more map[int64]*Registry) *Registry {
	if known := a.Past(generation); known != nil {
		return known
	}
	return more[generation]
}

// joinedRegistries caches results of Join.
type joinedRegistries struct {
	mu   sync.Mutex // guards made
	made map[pastAndCurrent]*Registry
}

type pastAndCurrent struct{ past, current *Registry }

func (j *joinedRegistries) join(past, current *Registry) *Registry {
	j.mu.Lock()
	defer j.mu.Unlock()
	key := pastAndCurrent{past, current}
	if made := j.made[key]; made != nil {
		return made
	}
	maps.DeleteFunc(j.made, func(k pastAndCurrent, _ *Registry) bool {
		// Readers ask only for the newest generation.
		return k.past == past && k.current.Generation <= current.Generation
	})
	j.made[key] = Join(past, current)
	return j.made[key]
}

// keep removes cached results whose past is not in the list.
func (j *joinedRegistries) keep(pasts []*Registry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	maps.DeleteFunc(j.made, func(k pastAndCurrent, _ *Registry) bool { return !slices.Contains(pasts, k.past) })
}

// Join returns a registry with the templates, tags and vars of past, and the devices, settings and modes of current. A
// device that was registered anew since past has no tags and vars in it.
func Join(past, current *Registry) *Registry {
	made := *current
	made.Generation, made.Templates, made.TagVars = past.Generation, past.Templates, past.TagVars
	made.Devices = make(map[DeviceID]*Registered, len(current.Devices))
	for id, d := range current.Devices {
		made.Devices[id] = joinDevice(past.Devices[id], d)
	}
	return &made
}

// JoinOne does what Join does, for one device.
func JoinOne(past, current *Registry, id DeviceID) *Registry {
	one := *current
	one.Devices = map[DeviceID]*Registered{id: current.Devices[id]}
	return Join(past, &one)
}

func joinDevice(was, is *Registered) *Registered {
	var tags []Tag
	var vars SavedVars
	if was != nil && was.CreatedAt.Equal(is.CreatedAt) {
		tags, vars = was.Tags, was.Vars
	}
	if slices.Equal(tags, is.Tags) && vars == is.Vars {
		return is
	}
	joined := *is
	joined.Tags, joined.Vars = append([]Tag{}, tags...), vars
	return &joined
}
