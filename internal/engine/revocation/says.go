package revocation

import (
	"fmt"

	"muster/internal/fleet"
)

// Total is the number of managed devices that count.
func (c Certificate) Total() int { return len(c.Rows) }

// There is the number of managed devices whose daemons had the revoked device when they were last read.
func (c Certificate) There() (count int) {
	for _, row := range c.Rows {
		if row.State == There {
			count++
		}
	}
	return count
}

// Complete reports whether the device is proven to be gone from all managed devices. It is false without managed
// devices.
func (c Certificate) Complete() bool { return len(c.Rows) > 0 && c.Gone == len(c.Rows) }

// Percent is how many of the managed devices are proven, rounded down.
func (c Certificate) Percent() int {
	if len(c.Rows) == 0 {
		return 0
	}
	return c.Gone * 100 / len(c.Rows)
}

// Says returns sentences for people: what the certificate rests on, and what it does not say. whole reports whether the
// caller sees the whole fleet.
func (c Certificate) Says(whole bool) (says []string) {
	add := func(format string, args ...any) { says = append(says, fmt.Sprintf(format, args...)) }
	id := c.Revocation.Device.Short()
	if !whole {
		add("Only the devices that you may see are counted.")
	}
	add("A device counts as proven when Muster read the configuration of its daemon without %s, and after that its "+
		"connections without it. Muster has read no configuration with %s from that daemon since.", id, id)
	add("The proof rests on what each daemon answered over the connection that Muster trusts: its pinned certificate or " +
		"its agent. Somebody who controls a managed machine can make its daemon answer something else.")
	if n := len(c.Unmanaged) + c.More; n > 0 {
		add("Managed daemons know %s that Muster does not manage. Whether those still share with %s cannot be known.",
			fleet.Counted(n, "device", "devices"), id)
	}
	add("The files on %s stay there, and so does all that it read before. Muster erases nothing on it.", id)
	if c.Knew.ReadAt.IsZero() {
		add("Muster has no configuration of %s, so it cannot list the encryption passwords that the device knew.", id)
	}
	add("`muster audit list --subject %s` lists the entries of the audit about it. `muster audit verify` checks these "+
		"entries and the stored proofs.", c.Revocation.Device)
	return says
}
