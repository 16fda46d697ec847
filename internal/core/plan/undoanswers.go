package plan

import "muster/internal/fleet"

// HeldByUndo is the held changes that an undo makes, for one person who answers them. The zero value has none.
type HeldByUndo struct {
	Keys map[fleet.ShownChange]string
	mine map[fleet.ShownChange]bool // changes to which the person may consent
}

// Add adds the changes of one device. mine are those of Effect.Answerable to which the person may consent, by key.
func (h *HeldByUndo) Add(effect Effect, mine map[string]Answerable) {
	if h.Keys == nil {
		h.Keys, h.mine = map[fleet.ShownChange]string{}, map[fleet.ShownChange]bool{}
	}
	for key, change := range effect.Answerable {
		shown := fleet.ShownChange{Device: effect.Device, Digest: change.Digest}
		_, h.mine[shown] = mine[key]
		h.Keys[shown] = key
	}
}

// Answerable returns those of the shown changes that the undo still makes and to which the person may consent, each
// once.
func (h HeldByUndo) Answerable(shown []fleet.ShownChange) (still []fleet.ShownChange) {
	listed := map[fleet.ShownChange]bool{}
	for _, change := range shown {
		if h.mine[change] && !listed[change] {
			listed[change], still = true, append(still, change)
		}
	}
	return still
}

// After returns the keys of the changes that were answered, and of those that still wait.
func (h HeldByUndo) After(given []fleet.ShownChange) (answered, waiting map[fleet.ShownChange]string) {
	answered, waiting = map[fleet.ShownChange]string{}, map[fleet.ShownChange]string{}
	for change, key := range h.Keys {
		waiting[change] = key
	}
	for _, change := range given {
		answered[change] = h.Keys[change]
		delete(waiting, change)
	}
	return answered, waiting
}
