package plan

import (
	"cmp"
	"fmt"
	"slices"

	"muster/internal/core/stconfig"
)

var (
	folders = stconfig.Key{}.Child("folders")
	devices = stconfig.Key{}.Child("devices")
)

// leaveOutDependents leaves out every change that depends on a held or refused change. It repeats this until the
// remaining changes make a consistent document, because a daemon silently drops entries of an inconsistent one.
func (p *Plan) leaveOutDependents(in Input) {
	for again := p.anyLeftOut(); again; {
		again = false
		after := stconfig.Patch(in.Observed, p.sending())
		overridden := stconfig.Forces(after)
		for i := range p.Changes {
			if c := &p.Changes[i]; c.Sendable() {
				blocker, reason := p.blocked(*c, after, string(in.Device))
				if reason == "" {
					blocker, reason = p.overrides(*c, overridden)
				}
				if reason != "" {
					*c = c.WithoutChoice()
					c.Dependent = c.Class != Held
					c.Class, c.Reason, c.Consented = blocker, reason, false
					again = true
				}
			}
		}
	}
}

// overrides returns the reason why the daemon would replace the value that change c writes: another change, which
// would prevent this, is left out of the plan. It also returns the class of that other change; both are "" if c keeps
// its value. overridden are the values that the daemon forces in the document which all sendable changes make.
func (p *Plan) overrides(c Change, overridden []stconfig.Forced) (Class, string) {
	for _, forced := range overridden {
		if stconfig.IsNotices(forced.Key) && forced.Key.Equal(c.Key) {
			return p.goesWith(cmp.Or(p.leftOutOf("gui.user", "gui.password"), "gui.password"))
		}
		if cause := p.leftOut(forced.By.String()); cause != "" && forced.Key.Equal(c.Key) {
			return cause, "left out together with " + forced.By.String() + ": until then the daemon overrides it"
		}
	}
	return "", ""
}

// freeConsequences makes a held change free if the daemon makes it by itself as a consequence of another change, its
// cause: the person consents to the cause only. If the consequence is stopped, its cause becomes held instead.
func (p *Plan) freeConsequences(observed stconfig.Value) {
	for i := range p.Changes {
		c := &p.Changes[i]
		if c.Class != Held || c.with == "" {
			continue
		}
		for j := range p.Changes {
			switch cause := &p.Changes[j]; {
			case cause.Key.String() != c.with || !brings(observed, *cause, *c):
			case !c.Stopped:
				c.Class, c.Reason, c.Consented = Free, "the daemon does it together with "+c.with, false
			case cause.Class == Free:
				cause.Class, cause.Dependent = Held, true
				cause.Reason = "left out together with " + c.Key.String() + ": the daemon would do that, too"
			}
		}
	}
}

// brings reports whether the daemon makes change c by itself when it is sent the change cause.
func brings(observed stconfig.Value, cause, c Change) bool {
	beside := stconfig.Consequences(observed, []stconfig.Change{{Key: cause.Key, From: cause.From, To: cause.send}})
	return slices.ContainsFunc(beside, func(b stconfig.Change) bool { return b.Key.Equal(c.Key) && b.To.Equal(c.send) })
}

func (p *Plan) anyLeftOut() bool {
	for _, c := range p.Changes {
		if !c.Sendable() || c.resumes {
			return true
		}
	}
	return false
}

// sending returns the sendable changes in the form of a stconfig.Diff.
func (p *Plan) sending() []stconfig.Change {
	var out []stconfig.Change
	for _, c := range p.Changes {
		if c.Sendable() {
			out = append(out, stconfig.Change{Key: c.Key, From: c.From, To: c.send})
		}
	}
	return out
}

// blocked returns why change c cannot be sent although nothing holds c itself, and the class of the change that blocks
// c. Both are "" if nothing blocks c. after is the document that all sendable changes make; own is the daemon's own
// device ID.
func (p *Plan) blocked(c Change, after stconfig.Value, own string) (Class, string) {
	if c.with != "" {
		if cause, reason := p.goesWith(c.with); cause != "" {
			return cause, reason
		}
	}
	member := c.Key.Len() == 2
	switch {
	case c.resumes:
		return p.lacksIgnores(c.Key.At(1).Name)
	case isKey(c.Key, "gui", "user"):
		return p.goesWith("gui.password") // A user without password, or the reverse, locks people out of the daemon's GUI.
	case isKey(c.Key, "gui", "password"):
		return p.goesWith("gui.user")
	case section(c.Key) == "folders":
		return p.lacksDevice(c, after, own)
	case c.To.Exists() && section(c.Key) == "remoteignoreddevices" && member:
		if device := devices.Child(c.Key.At(1).Name); stconfig.Lookup(after, device).Exists() {
			return orHeld(p.leftOut(device.String())), "left out together with " + device.String()
		}
	case ignoresFolder(c):
		folder := folders.Child(c.Key.At(3).Name)
		if stconfig.Lookup(after, folder.Child("devices").Child(c.Key.At(1).Name)).Exists() {
			return orHeld(p.leftOut(folder.String())), "left out together with " + folder.String()
		}
	case section(c.Key) == "ignores" && c.Key.Len() > 1:
		folder := folders.Child(c.Key.At(1).Name)
		if !stconfig.Lookup(after, folder).Exists() {
			return orHeld(p.leftOut(folder.String())), "left out together with " + folder.String()
		}
	case section(c.Key) == "devices" && member && !c.To.Exists():
		if folder := sharing(after, c.Key.At(1).Name); folder != "" {
			return Held, fmt.Sprintf("folder %q is still shared with it", folder)
		}
	case section(c.Key) == "devices" && member && c.implied && !c.From.Exists():
		if sharing(after, c.Key.At(1).Name) == "" {
			return p.lacksFolder(c.Key.At(1).Name)
		}
	}
	return "", ""
}

// lacksFolder blocks the change that adds a device which only shared folders need, because none of these folders is
// sent. It names the left-out change of such a folder.
func (p *Plan) lacksFolder(device string) (Class, string) {
	for _, c := range p.Changes {
		if section(c.Key) == "folders" && !c.Sendable() && slices.Contains(sharesOf(c), device) {
			return c.Class, "left out together with " + c.Key.String()
		}
	}
	return Held, "no folder would be shared with it after this plan is sent"
}

// goesWith blocks a change while the change of the key other is left out.
func (p *Plan) goesWith(other string) (Class, string) {
	if cause := p.leftOut(other); cause != "" {
		return cause, "left out together with " + other
	}
	return "", ""
}

// lacksDevice blocks a change that shares a folder with a device if the document after lacks the device. It also
// blocks the change if the device is still marked untrusted because the change of that mark is left out. A daemon
// drops such shares.
func (p *Plan) lacksDevice(c Change, after stconfig.Value, own string) (Class, string) {
	for _, id := range sharesOf(c) {
		device := devices.Child(id)
		if mark := device.Child("untrusted"); stconfig.Lookup(after, mark).IsTrue() && p.leftOut(mark.String()) != "" {
			return p.leftOut(mark.String()), "left out together with " + mark.String()
		}
		if id == own || stconfig.Lookup(after, device).Exists() {
			continue
		}
		return orHeld(p.leftOut(device.String())), "left out together with " + device.String()
	}
	return "", ""
}

// sharesOf returns the devices that a change shares a folder with.
func sharesOf(c Change) []string {
	switch {
	case !c.To.Exists():
		return nil
	case c.Key.Len() == 2:
		var ids []string
		for share := range c.To.Get("devices").Values() {
			ids = append(ids, share.Get("deviceID").Str())
		}
		return ids
	case c.Key.Len() == 4 && isKey(c.Key, "folders", c.Key.At(1).Name, "devices", c.Key.At(3).Name):
		return []string{c.Key.At(3).Name}
	}
	return nil
}

// sharing returns the ID of a folder that is shared with a device, "" where no folder is.
func sharing(doc stconfig.Value, device string) string {
	for folder := range doc.Get("folders").Values() {
		id := folder.Get("id").Str()
		if stconfig.Lookup(doc, folders.Child(id).Child("devices").Child(device)).Exists() {
			return id
		}
	}
	return ""
}

// leftOutOf returns the first of these keys whose change is not sent, "" where none is.
func (p *Plan) leftOutOf(keys ...string) string {
	for _, key := range keys {
		if p.leftOut(key) != "" {
			return key
		}
	}
	return ""
}

// leftOut returns the class of the change at a key when that change is not sent, else "".
func (p *Plan) leftOut(key string) Class {
	for _, c := range p.Changes {
		if c.Key.String() == key && !c.Sendable() {
			return c.Class
		}
	}
	return ""
}

func orHeld(c Class) Class {
	if c == "" {
		return Held
	}
	return c
}

// A new folder with ignore patterns is made in three steps: it is made paused, gets its patterns, and is resumed.
// Without the pause it would scan files that are to be ignored, and offer them to other devices.

// startLater makes new folders with ignore patterns start paused. It also marks the changes that resume such folders,
// which wait until the patterns are there. skipped are the changes that the fold skipped.
func (p *Plan) startLater(skipped []Change) {
	asked := map[string]bool{}
	for _, changes := range [][]Change{p.Changes, skipped} {
		for _, c := range changes {
			if section(c.Key) == "ignores" && c.Key.Len() > 1 {
				asked[c.Key.At(1).Name] = true
			}
		}
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		if section(c.Key) != "folders" || c.Key.Len() < 2 || !asked[c.Key.At(1).Name] {
			continue
		}
		switch paused := c.send.Get("paused"); {
		case c.Key.Len() == 2 && !c.From.Exists() && paused.Kind() == stconfig.Bool && !paused.IsTrue():
			c.send, c.startsPaused = c.send.With("paused", stconfig.Boolean(true)), true
		case isKey(c.Key, "folders", c.Key.At(1).Name, "paused") && !c.send.IsTrue():
			c.resumes = true
		}
	}
}

// lacksIgnores returns why a folder cannot be resumed yet: the plan leaves out the change of its ignore patterns, or
// has no such change because the patterns could not be read. It returns "" if the patterns are sent.
func (p *Plan) lacksIgnores(folder string) (Class, string) {
	for _, c := range p.Changes {
		if isKey(c.Key, "ignores", folder) {
			if c.Sendable() {
				return "", ""
			}
			return c.Class, "left out together with " + c.Key.String()
		}
	}
	return Held, "the folder stays paused: its ignore patterns could not be read"
}

// Follows reports whether a change of a later plan completes a folder that this plan made paused: the change sets its
// ignore patterns, or resumes it.
func (p Plan) Follows(c Change) bool {
	for _, made := range p.Changes {
		if made.startsPaused && c.Key.Len() > 1 && made.Key.At(1) == c.Key.At(1) &&
			(section(c.Key) == "ignores" || c.resumes) {
			return true
		}
	}
	return false
}
