package plan

import (
	"muster/internal/stconfig"
)

// A new folder whose ignore patterns a template names is made paused, gets its patterns, and is resumed only then:
// else it would scan, and offer to everybody, what was to be ignored.

// startLater finds the folders that are to be made paused, and those that are to be resumed once they have their
// patterns.
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

// lacksIgnores says why a folder cannot be resumed: its patterns are not there yet, and do not go out before.
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

// Follows tells whether a change is what a plan that was sent leaves to the next one: the ignore patterns of a folder
// that it made, and its start.
func (p Plan) Follows(c Change) bool {
	for _, made := range p.Changes {
		if made.startsPaused && c.Key.Len() > 1 && made.Key.At(1) == c.Key.At(1) &&
			(section(c.Key) == "ignores" || c.resumes) {
			return true
		}
	}
	return false
}
