package desired

import (
	"fmt"
	"strings"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// What all templates together may bring to one device. A value is small; the places that its key names may be many.
const (
	MaxValues  = 60_000  // new values: 1,300 new folders, or 3,300 new devices
	MaxText    = 2 << 20 // bytes of text in them, secrets included
	MaxChanges = 10_000
	MaxSkips   = 2_000

	changeBytes = 600 // of memory for a key that changes, up to the plan
)

func (f *fold) newBudget() *stconfig.Budget {
	return &stconfig.Budget{Values: MaxValues, Text: MaxText, Skips: MaxSkips, SecretText: f.secretText, Take: f.Take}
}

// secretText is how long the secret is that a handle stands for.
func (f *fold) secretText(handle string) int {
	name, own := strings.CutPrefix(handle, "secret:")
	if !own || f.SecretBytes == nil {
		return len(handle)
	}
	return f.SecretBytes(name)
}

// count bounds how many keys the templates change, and leave out.
func (f *fold) count(changes, skips int) error {
	what, most := "change more than %d keys", MaxChanges
	switch {
	case len(f.asked)+changes > MaxChanges:
	case len(f.skipped)+skips > MaxSkips:
		what, most = "leave out more than %d keys", MaxSkips
	case f.Take != nil:
		return f.Take(int64(changes+skips) * changeBytes)
	default:
		return nil
	}
	return &fleet.Error{Code: fleet.CodeInvalid, Hint: "Have the key name fewer places.",
		Message: fmt.Sprintf("the templates would "+what+" of the device, this one and those before it counted", most)}
}
