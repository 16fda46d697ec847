package auth

import (
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// ToConsent returns the permission that a consent to a group of held changes needs. An operator may consent to the
// removal of folders and devices, an administrator to every held change.
func ToConsent(g fleet.HeldGroup) Permission {
	if g.Removes {
		return Apply
	}
	return Consent
}

// MayConsent returns a forbidden error if the caller may not consent to one of these changes that is held and has one
// of the keys. It accepts a key without a held change, because the engine refuses that consent later.
func (p Principal) MayConsent(changes []plan.Change, keys []string) error {
	if p.May(Consent) {
		return nil
	}
	for _, key := range keys {
		parsed, err := stconfig.ParseKey(key)
		if err != nil {
			return err
		}
		for _, change := range changes {
			if change.Key.Equal(parsed) && change.Class == plan.Held && !change.TakesAway() {
				return &fleet.Error{
					Code:    fleet.CodeForbidden,
					Message: p.roleInWords() + " may not consent to " + change.Key.String() + ": " + change.Reason,
					Hint: p.howToGet() + string(Consent.Needs()) +
						". An operator may consent to the removal of folders and devices only.",
				}
			}
		}
	}
	return nil
}
