package plan

import "muster/internal/fleet"

// Effect says what a change of the registry (templates, tags, settings) would do to one device.
type Effect struct {
	Device fleet.DeviceID
	Brings []Change // changes that would be planned and are not planned now
	Drops  []Change // changes that are planned now and would not be planned any more
	Alone  []string // folders on the device that would lose their last share; see LastShares
	// Answerable has, by key, those changes in Brings that the answer of an undo may cover (see Change.UndoAnswers).
	Answerable map[string]Answerable
	Unread     bool  // The configuration was never read, so there is nothing to compare with.
	Err        error // why no plan could be made; the device's state would be failed
	// FailsNow reports whether no plan can be made now, either.
	FailsNow bool
}

// Answerable is a held change that the answer of an undo may cover.
type Answerable struct {
	Digest  string // see Change.ConsentDigest
	Removes bool   // It removes a folder or device; false: it makes one again.
}

// Without returns the changes for which `others` has no change with the same key, class and values.
func Without(changes, others []Change) []Change {
	type fate struct {
		class  Class
		digest string
	}
	have := map[string]fate{}
	for _, c := range others {
		have[c.Key.String()] = fate{c.Class, c.Digest()}
	}
	var left []Change
	for _, c := range changes {
		if f, ok := have[c.Key.String()]; !ok || f != (fate{c.Class, c.Digest()}) {
			left = append(left, c)
		}
	}
	return left
}
