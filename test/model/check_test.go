package model_test

import (
	"encoding/json"
	"fmt"
	"strings"

	"muster/api"
	"muster/internal/core/stconfig"
)

// check compares the daemon with what the rules say, but for what waits for an answer, and gives what is wrong.
func (s *sequence) check() (wrong []string) {
	f := s.folded()
	for _, place := range differences(s.want, f.doc) {
		s.reopen(place)
	}
	s.want = f.doc
	for place := range f.doc {
		if id, ok := strings.CutPrefix(place, "devices."); ok && isMember(place) {
			s.rules.along[id] = f.along[id]
		}
	}
	changes := make([]stconfig.Change, 0, len(s.plan.Changes))
	for _, c := range s.plan.Changes {
		if c.Class == "held" {
			changes = append(changes, stconfig.Change{Key: keyOf(c.Key), To: value(c.To)})
			wrong = append(wrong, s.mayBeHeld(c)...)
		}
	}
	answered := s.project(stconfig.Patch(s.value, changes))
	if s.waits(passwordPlace) {
		answered[passwordPlace] = s.want[passwordPlace] // it is masked
	}
	for _, place := range differences(s.want, answered) {
		wrong = append(wrong, fmt.Sprintf("%s is %q (%q when all is answered), want %q", place, s.doc[place],
			answered[place], s.want[place]))
	}
	for place := range s.doc {
		if _, shared := sharedWith(place); shared && s.want[place] == "" && !s.waits(place) {
			wrong = append(wrong, place+": a share that no template and no person asks for")
		}
	}
	return wrong
}

func value(raw json.RawMessage) stconfig.Value {
	if len(raw) == 0 || string(raw) == "null" {
		return stconfig.Value{}
	}
	v, err := stconfig.Parse(raw)
	if err != nil {
		panic(err)
	}
	return v
}

// waits tells whether a change of a place, or of what it lies in, waits for an answer.
func (s *sequence) waits(place string) bool {
	for _, c := range s.plan.Changes {
		if c.Class == "held" && (c.Key == place || within(place, c.Key)) {
			return true
		}
	}
	return false
}

// waitsForAnother tells a held change that waits for the answer to another one, and follows by itself.
func waitsForAnother(c api.PlannedChange) bool {
	return strings.HasPrefix(c.Reason, "left out together") || strings.HasSuffix(c.Reason, "is still shared with it")
}

// mayBeHeld checks that a question is one: about a folder or device that comes or goes, about a value that Muster wrote
// earlier, or about the user and password; and that it is not asked twice. A password that was kept is asked about when
// a template sets it: nothing tells that the daemon's hash is of the same one.
func (s *sequence) mayBeHeld(c api.PlannedChange) (wrong []string) {
	if waitsForAnother(c) {
		return nil
	}
	if s.answered[c.Key] && c.Key != passwordPlace {
		wrong = append(wrong, c.Key+" is asked twice: "+c.Reason)
	}
	topLevel := isMember(c.Key) && strings.Count(c.Key, ".") == 1
	if strings.HasPrefix(c.Key, "gui.") {
		return wrong
	}
	if !topLevel && !s.rules.wrote[c.Key][s.doc[c.Key]] && !isMember(c.Key) {
		wrong = append(wrong, c.Key+" is held: "+c.Reason)
	}
	return wrong
}

// noVanished checks that no folder goes without consent, and no device but one that was only brought along, or that
// templates removed earlier and still remove.
func (s *sequence) noVanished(before, after flat, removes map[string]bool) {
	for place := range before {
		if after[place] != "" || !isMember(place) || strings.Count(place, ".") != 1 || s.answered[place] {
			continue
		}
		if _, ignored := ignoredDevice(place); ignored {
			continue
		}
		if before[place] == introduced && s.rules.revoked[place] {
			continue // an introducer had added again what templates have revoked
		}
		id, isDevice := strings.CutPrefix(place, "devices.")
		if isDevice && s.rules.removed[place] && removes[id] {
			continue
		}
		if !isDevice || !s.rules.along[id] || s.rules.base[place] != "" {
			s.rt.Fatalf("%s was taken away, and no person consented%s", place, s.told())
		}
	}
}
