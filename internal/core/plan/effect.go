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

// Compare returns what a plan of changes `then` brings that the plan of changes `now` does not have with the same key,
// class and values, and the changes of `now` whose keys `then` no longer has. So no key is in both: a change that is
// different in `then` is only in brings.
func Compare(now, then []Change) (brings, drops []Change) {
	left := fatesOf(now)
	planned := map[string]bool{}
	for _, c := range then {
		planned[c.Key.String()] = true
		if of := fateOf(c); left[of] > 0 {
			left[of]-- // A plan may have several changes of one key: skipped ones, for example.
			continue
		}
		brings = append(brings, c)
	}
	for _, c := range now {
		if !planned[c.Key.String()] {
			drops = append(drops, c)
		}
	}
	return brings, drops
}

// fate is what Compare compares of a change.
type fate struct {
	key    string
	class  Class
	digest string
}

func fateOf(c Change) fate { return fate{c.Key.String(), c.Class, c.Digest()} }

func fatesOf(changes []Change) map[fate]int {
	fates := make(map[fate]int, len(changes))
	for _, c := range changes {
		fates[fateOf(c)]++
	}
	return fates
}
