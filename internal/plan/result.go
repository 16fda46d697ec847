package plan

import (
	"fmt"
	"slices"
	"strings"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// Effect is what another registry would do to one device.
type Effect struct {
	Device fleet.DeviceID
	Brings []Change // that would be planned and are not now
	Drops  []Change // that are planned now and would not be
	Unread bool     // the configuration was never read, so there is nothing to compare with
	Err    error    // why no plan could be made under the other registry; the device would be failed
}

// RestoreRequest says what to restore of a revision.
type RestoreRequest struct {
	Section string   // a section or a key in it, like "options" or "folders.photos"; "" is everything
	Digest  string   // of the plan that the person saw; needed with Consent
	Consent []string // keys of held changes that may go out
}

// ParseSection reads the section of a RestoreRequest.
func ParseSection(text string) (stconfig.Key, error) {
	section, err := stconfig.ParseKey(text)
	if err != nil {
		return section, err
	}
	for i := range section.Len() {
		if section.At(i).Name == "*" {
			return section, fleet.Invalidf("section", "a section is one place: name it, without *")
		}
	}
	return section, nil
}

// ByPerson sorts what a person's own change makes of a section of a document: what is to be changed, and what is left
// as it is, with the reason. entries are what Muster wrote there.
func ByPerson(section stconfig.Key, from, to stconfig.Value, entries []fleet.BaseEntry,
) (wanted []stconfig.Change, left []Change) {
	for _, d := range stconfig.Diff(from, to) {
		why, within := exempt(section, d.Key, entries)
		switch {
		case !within:
		case why != "":
			left = append(left, Change{Key: d.Key, From: d.From, To: d.To, Class: Skipped, Reason: why})
		default:
			wanted = append(wanted, d)
		}
	}
	return wanted, left
}

// exempt tells whether a difference is in the section, and why it is not restored all the same.
func exempt(section, key stconfig.Key, entries []fleet.BaseEntry) (why string, within bool) {
	if !key.HasPrefix(section) {
		if section.HasPrefix(key) {
			return fmt.Sprintf("it is there as a whole or not at all: restore %s", key), true
		}
		return "", false
	}
	switch strings.ToLower(key.String()) {
	case "version":
		return "the version of the configuration belongs to the daemon", true
	case "gui.password":
		return "a password hash is never put back: old daemons would hash it once more and lock the user out", true
	case "gui.address", "gui.usetls", "gui.apikey", "gui.enabled":
		return "how the daemon's API is reached is not restored: there would be no way back", true
	}
	for _, e := range entries {
		owned, err := stconfig.ParseKey(e.Key)
		if err == nil && e.Stands() && (key.HasPrefix(owned) || owned.HasPrefix(key)) {
			return "templates write it: change those", true
		}
	}
	return "", true
}

// CheckConsent checks that a person consents to the plan that they saw, and to nothing that does not wait for it.
func (p Plan) CheckConsent(digest string, consent []string) error {
	if len(consent) == 0 && digest == "" {
		return nil
	}
	if digest != p.Digest {
		return &fleet.Error{Code: fleet.CodeConflict, Message: "what the restore would change is another by now",
			Hint: "Ask for the restore without consent, look at its plan, and consent to that one."}
	}
	for _, key := range consent {
		waits := func(c Change) bool { return c.Class == Held && c.Key.String() == key }
		if !slices.ContainsFunc(p.Changes, waits) {
			return fleet.Invalidf("consent", "nothing at %q waits for consent", key)
		}
	}
	return nil
}

// Restored is the result of a restore.
type Restored struct {
	Plan   Plan     // what it changes; as a whole it waits while one of its changes waits for consent
	Done   bool     // it was sent and read back
	Left   []Change // what is not restored, with the reason
	Reason string   // for a person
	Next   string   // what the person can do
}
