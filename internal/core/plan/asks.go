package plan

import (
	"fmt"
	"strings"
)

// Asks counts the held changes of some devices by who may consent to them.
type Asks struct{ Admins, Operators int }

// Add counts those of the changes that are held.
func (a *Asks) Add(changes []Change) {
	for _, change := range changes {
		switch {
		case change.Class != Held:
		case change.TakesAway():
			a.Operators++
		default:
			a.Admins++
		}
	}
}

// Texts returns sentences for people about the counts. approval is why the rollout waits for an admin; "" when it
// does not wait.
func (a *Asks) Texts(approval string) []string {
	texts := []string{}
	if approval != "" {
		texts = append(texts, "an admin approves the rollout: "+approval)
	}
	if a.Admins > 0 {
		texts = append(texts, fmt.Sprintf("an admin consents to held changes: %d", a.Admins))
	}
	if a.Operators > 0 {
		texts = append(texts, fmt.Sprintf("an operator consents to removals of folders and devices: %d", a.Operators))
	}
	return texts
}

// TakesAway reports whether a change removes a folder or a device from the daemon. An operator may consent to such a
// change. To is also absent in a change whose large value was left out of a report; such a change removes nothing.
func (c Change) TakesAway() bool {
	if c.Key.Len() != 2 || c.To.Exists() || c.ToLeftOut {
		return false
	}
	section := c.Key.At(0).Name
	return strings.EqualFold(section, "folders") || strings.EqualFold(section, "devices")
}
