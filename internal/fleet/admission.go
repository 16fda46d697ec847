package fleet

import (
	"maps"
	"slices"
	"sync"
)

// Admission says which generation each device is admitted to: its hold's, or else the settled one. It is an immutable
// snapshot that readers share.
type Admission struct {
	settled *Registry           // the newest generation of which it was decided who is admitted
	holds   map[DeviceID]Hold   // devices that a rollout keeps at a past generation
	pasts   map[int64]*Registry // the registries of these generations
	joined  *joinedRegistries   // shared by an Admission and those that follow from it
}

// NewAdmission makes the snapshot. pasts has the registry of every generation at which a device is held.
func NewAdmission(settled *Registry, holds []Hold, pasts map[int64]*Registry) *Admission {
	a := &Admission{settled: settled, holds: make(map[DeviceID]Hold, len(holds)), pasts: pasts,
		joined: &joinedRegistries{made: map[pastAndCurrent]*Registry{}}}
	for _, h := range holds {
		a.holds[h.Device] = h
	}
	return a
}

// Settled is the registry at the newest generation of which it was decided who is admitted.
func (a *Admission) Settled() *Registry { return a.settled }

// Hold tells whether a rollout keeps the device at a past generation.
func (a *Admission) Hold(id DeviceID) (Hold, bool) {
	h, held := a.holds[id]
	return h, held
}

// Holds are all of them. The map must not be changed.
func (a *Admission) Holds() map[DeviceID]Hold { return a.holds }

// At is the registry of the generation that a device is admitted to, with the devices of that time.
func (a *Admission) At(id DeviceID) *Registry {
	if h, held := a.holds[id]; held {
		return a.pasts[h.Generation]
	}
	return a.settled
}

// Past is the registry of a generation that the snapshot has; nil for another.
func (a *Admission) Past(generation int64) *Registry {
	if generation == a.settled.Generation {
		return a.settled
	}
	return a.pasts[generation]
}

// Same tells whether the same devices are held at the same generations, and the same generation is settled.
func (a *Admission) Same(b *Admission) bool {
	return a.settled.Generation == b.settled.Generation && maps.Equal(a.holds, b.holds)
}

// For is the registry of the generation that a device is admitted to, with the devices, settings and modes of current.
// It gives the same pointer while neither changed.
func (a *Admission) For(id DeviceID, current *Registry) *Registry {
	past := a.At(id)
	if past.Generation >= current.Generation {
		return current
	}
	return a.joined.join(past, current)
}

// AdmissionChange is what a commit changes of an Admission.
type AdmissionChange struct {
	Settled *Registry // nil: as before
	Hold    []Hold
	Release []Hold              // a hold of another rollout stays
	Gone    []DeviceID          // deleted devices
	Pasts   map[int64]*Registry // of the generations in Hold that the snapshot does not have
}

// After is the snapshot after a commit.
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

// joinedRegistries remembers what Join makes.
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
		return k.past == past && k.current.Generation <= current.Generation // readers ask for the newest
	})
	j.made[key] = Join(past, current)
	return j.made[key]
}

// keep forgets what was made of other pasts than these.
func (j *joinedRegistries) keep(pasts []*Registry) {
	j.mu.Lock()
	defer j.mu.Unlock()
	maps.DeleteFunc(j.made, func(k pastAndCurrent, _ *Registry) bool { return !slices.Contains(pasts, k.past) })
}

// Join is a registry with the templates, tags and vars of a past one, and the devices, settings and modes of current. A
// device that was registered anew since has no tags and no vars of its own there.
func Join(past, current *Registry) *Registry {
	made := *current
	made.Generation, made.Templates, made.TagVars = past.Generation, past.Templates, past.TagVars
	made.Devices = make(map[DeviceID]*Registered, len(current.Devices))
	for id, d := range current.Devices {
		made.Devices[id] = joinDevice(past.Devices[id], d)
	}
	return &made
}

// JoinOne is Join with one device only.
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
