package plan

import (
	"fmt"
	"slices"

	"muster/internal/stconfig"
)

var (
	folders = stconfig.Key{}.Child("folders")
	devices = stconfig.Key{}.Child("devices")
)

// leaveOutDependents leaves out, with every held or refused change, what makes no sense without it, until the document
// that the rest makes is consistent in itself: a daemon mends an inconsistent one silently, by dropping things.
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
					c.Dependent = c.Class != Held
					c.Class, c.Reason, c.Consented = blocker, reason, false
					again = true
				}
			}
		}
	}
}

// overrides says why the daemon would not keep a change, where the one that it goes with is left out.
func (p *Plan) overrides(c Change, overridden []stconfig.Forced) (Class, string) {
	for _, forced := range overridden {
		if cause := p.leftOut(forced.By.String()); cause != "" && forced.Key.Equal(c.Key) {
			return cause, "left out together with " + forced.By.String() + ": until then the daemon overrides it"
		}
	}
	return "", ""
}

// freeConsequences frees a change that the daemon makes by itself as soon as it has another one: there is nothing to
// consent to but that one. Where writing the change is of no use, the other one waits, too.
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

// brings tells whether a daemon makes one change by itself when it is sent another one.
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

// sending are the changes that go out, as a Diff.
func (p *Plan) sending() []stconfig.Change {
	var out []stconfig.Change
	for _, c := range p.Changes {
		if c.Sendable() {
			out = append(out, stconfig.Change{Key: c.Key, From: c.From, To: c.send})
		}
	}
	return out
}

// blocked says why a change cannot go out in a document that would be after, and the class of what keeps it back.
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
		return p.goesWith("gui.password") // one without the other locks people out of the daemon's own page
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
			return Held, "the folder that needs it is left out"
		}
	}
	return "", ""
}

// goesWith keeps a change back as long as another one is.
func (p *Plan) goesWith(other string) (Class, string) {
	if cause := p.leftOut(other); cause != "" {
		return cause, "left out together with " + other
	}
	return "", ""
}

// lacksDevice tells whether a folder's change shares it with a device that would not be there, or that would still be
// marked untrusted: a daemon takes such a share away.
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

// sharesOf are the devices that a change shares a folder with anew.
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

// sharing is a folder that is shared with a device, "" when there is none.
func sharing(doc stconfig.Value, device string) string {
	for folder := range doc.Get("folders").Values() {
		id := folder.Get("id").Str()
		if stconfig.Lookup(doc, folders.Child(id).Child("devices").Child(device)).Exists() {
			return id
		}
	}
	return ""
}

// leftOut is the class of the change at a key when it does not go out, "" otherwise.
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
