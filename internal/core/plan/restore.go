package plan

import (
	"fmt"
	"slices"
	"strings"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// RestoreRequest says which part of a revision to restore.
type RestoreRequest struct {
	Section string   // key of the part, like "options" or "folders.photos"; "" is the whole configuration
	Digest  string   // digest of the plan that the person saw; needed where Consent is set. Another plan is refused.
	Preview bool     // the restore is planned, and nothing is sent
	Consent []string // keys of held changes that the person consents to
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

// SplitForRestore compares two documents in one section. wanted are the changes that a restore makes; left are those
// that it leaves out, each with its reason. entries are the device's ownership records.
func SplitForRestore(section stconfig.Key, from, to stconfig.Value, entries []fleet.BaseEntry,
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

// exempt decides about one key of a restore. within reports whether the restore concerns the key. If it does, why is
// the reason for leaving the key out, or "" if the key is restored.
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
		if err == nil && e.MayBeOurs() && (key.HasPrefix(owned) || owned.HasPrefix(key)) {
			return "templates write it: change those", true
		}
	}
	return "", true
}

// CheckConsent checks the consent that a person gives with a restore. It returns conflict if the person saw another
// plan than this one, and invalid if no change waits for consent at one of the keys.
func (p Plan) CheckConsent(digest string, consent []string) error {
	if len(consent) == 0 && digest == "" {
		return nil
	}
	if digest != p.Digest {
		return &fleet.Error{Code: fleet.CodeConflict, Message: "what the restore would change is another by now",
			Hint: "Ask for its preview, read the plan, and restore with the digest of that one."}
	}
	for _, key := range consent {
		waits := func(c Change) bool { return c.Class == Held && c.Key.String() == key }
		if !slices.ContainsFunc(p.Changes, waits) {
			return fleet.Invalidf("consent", "nothing at %q waits for consent", key)
		}
	}
	return nil
}

// CheckRemovals returns an error for a key at which no waiting change removes a folder or a device.
func (p Plan) CheckRemovals(keys []string) error {
	for _, key := range keys {
		if c, ok := p.At(key); !ok || c.Class != Held || !c.TakesAway() {
			return fleet.Invalidf("remove", "nothing at %q waits that takes a folder or a device away", key)
		}
	}
	return nil
}

// Restored is the result of a restore.
type Restored struct {
	Plan   Plan     // If one of its changes waits for consent, nothing is sent.
	Done   bool     // Every change was sent, and found when the configuration was read back.
	Left   []Change // changes that the restore leaves out, each with its reason
	Reason string   // sentence for a person
	Next   string   // next step for the person
}
