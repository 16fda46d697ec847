package view

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// statement is what one sentence says of a change. Changes of several devices with the same statement are equal, but
// for the other devices that they name: those are in peers. Secrets are masked.
type statement struct {
	key      stconfig.Key   // A * takes the place of a device.
	from, to stconfig.Value // They lack shares of a whole folder, and the ID of a device entry.
	own      bool           // The key is the device's own entry or share.
	shares   bool           // It is a whole folder, and peers are those that share it.
	dropped  bool           // The change is no longer planned.
	class    plan.Class
	reason   string // It names devices by their labels.
	waitsFor string // Who answers a held change.
	drift    bool
	returns  bool
	sent     bool // Held, and a person consented.

	takesAway bool // A whole folder or device entry goes, whether its values are known or not.
}

// peer is another device that a change names.
type peer struct {
	id   fleet.DeviceID
	name string // The label, else the name that the change gives it.
	rest string // What else the change says of it.

	encrypted  bool // It gets a folder encrypted.
	registered bool
}

// statementOf separates what a change of a device says from the other devices that it names.
func statementOf(own fleet.DeviceID, c plan.Change, dropped bool, label labelOf) (statement, []peer) {
	from, to := c.Shown()
	s := statement{key: c.Key, from: stconfig.WithoutDefaults(c.Key, from), to: stconfig.WithoutDefaults(c.Key, to),
		dropped: dropped, class: c.Class, reason: fleet.WithNames(c.Reason, label), drift: c.Drift, returns: c.Returns,
		sent: c.Class == plan.Held && c.Consented, takesAway: c.Class == plan.Held && c.TakesAway()}
	if c.Class == plan.Held {
		s.waitsFor = waitsFor(c)
	}
	return s, s.takePeers(own, label)
}

// waitsFor says who answers a held change.
func waitsFor(c plan.Change) string {
	switch {
	case c.Dependent:
		return "another change"
	case c.Stopped:
		return "a retry"
	case c.OnlyKeep:
		return "an answer"
	case c.TakesAway():
		return "an operator"
	}
	return "an admin"
}

// takePeers takes the other devices out of the statement, and puts * in the place of any device in its key.
func (s *statement) takePeers(own fleet.DeviceID, label labelOf) []peer {
	at, isEntry := 0, false
	switch {
	case s.key.Len() >= 2 && s.in("devices"):
		at, isEntry = 1, s.key.Len() == 2
	case s.key.Len() >= 4 && s.in("folders") && strings.EqualFold(s.key.At(2).Name, "devices"):
		at, isEntry = 3, s.key.Len() == 4
	case s.key.Len() == 2 && s.in("folders") && s.from.Exists() != s.to.Exists():
		return s.takeShares(own, label)
	default:
		return nil
	}
	id := fleet.DeviceID(s.key.At(at).Name)
	s.key = s.key.WithEvery(at)
	if s.own = id == own; s.own {
		return nil
	}
	one := peer{id: id, name: label(id), registered: label(id) != ""}
	if isEntry {
		fromName, toName := takeEntry(&s.from), takeEntry(&s.to)
		named := cmp.Or(toName, fromName)
		if named != "" && named != one.name || fromName != "" && toName != "" && fromName != toName {
			one.rest = fmt.Sprintf("%q %q", fromName, toName)
		}
		one.name = cmp.Or(one.name, named)
		one.encrypted = s.to.Get("encryptionPassword").Str() != ""
	}
	return []peer{one}
}

// in reports whether the key is in a section of the configuration.
func (s *statement) in(section string) bool { return strings.EqualFold(s.key.At(0).Name, section) }

// takeEntry takes the ID and the name out of a device entry, and returns the name.
func takeEntry(entry *stconfig.Value) (name string) {
	if entry.Kind() != stconfig.Object {
		return ""
	}
	name = entry.Get("name").Str()
	*entry = entry.Without("deviceID").Without("name")
	return name
}

// takeShares takes the shares out of a whole folder. What the folder says of its own device stays.
func (s *statement) takeShares(own fleet.DeviceID, label labelOf) (peers []peer) {
	s.shares = true
	folder := &s.to
	if !s.to.Exists() {
		folder = &s.from
	}
	if folder.Kind() != stconfig.Object {
		return nil
	}
	var stay []stconfig.Value
	for share := range folder.Get("devices").Values() {
		id := fleet.DeviceID(share.Get("deviceID").Str())
		rest := withoutEmpty(share)
		switch {
		case id == own && rest.Len() == 0:
		case id == own:
			stay = append(stay, rest)
		default:
			one := peer{id: id, name: label(id)}
			if rest.Len() > 0 {
				one.rest = string(inOrder(rest).JSON())
			}
			one.encrypted = rest.Get("encryptionPassword").Exists()
			peers = append(peers, one)
		}
	}
	*folder = folder.Without("devices")
	if len(stay) > 0 {
		*folder = folder.With("devices", stconfig.List(stay...))
	}
	slices.SortFunc(peers, func(a, b peer) int { return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.rest, b.rest)) })
	return peers
}

// withoutEmpty returns a share without its ID and without empty fields.
func withoutEmpty(share stconfig.Value) stconfig.Value {
	var left []stconfig.Member
	for name, value := range share.Members() {
		if name != "deviceID" && (value.Kind() != stconfig.String || value.Str() != "") {
			left = append(left, stconfig.Member{Name: name, Value: value})
		}
	}
	return stconfig.Obj(left...)
}

// inOrder sorts the fields of objects by name, because daemons of two versions order them differently.
func inOrder(v stconfig.Value) stconfig.Value {
	switch v.Kind() {
	case stconfig.Object:
		members := make([]stconfig.Member, 0, v.Len())
		for name, value := range v.Members() {
			members = append(members, stconfig.Member{Name: name, Value: inOrder(value)})
		}
		slices.SortFunc(members, func(a, b stconfig.Member) int { return strings.Compare(a.Name, b.Name) })
		return stconfig.Obj(members...)
	case stconfig.Array:
		values := make([]stconfig.Value, 0, v.Len())
		for value := range v.Values() {
			values = append(values, inOrder(value))
		}
		return stconfig.List(values...)
	}
	return v
}

// sum returns the same hash for the same statement.
func (s *statement) sum() [sha256.Size]byte {
	text := fmt.Appendf(nil, "%q %t %t %t %q %q %q %t %t %t %t", s.key.String(), s.own, s.shares, s.dropped, s.class,
		s.reason, s.waitsFor, s.drift, s.returns, s.sent, s.takesAway)
	for _, v := range []stconfig.Value{s.from, s.to} {
		text = append(text, '\n')
		if v.Exists() {
			text = inOrder(v).AppendJSON(text)
		}
	}
	return sha256.Sum256(text)
}

// removes reports whether the change takes something away, at once or after an answer.
func (s *statement) removes() bool {
	return (s.from.Exists() && !s.to.Exists() || s.takesAway) && s.isMade()
}

// isMade reports whether the change is made, at once or after an answer.
func (s *statement) isMade() bool {
	return !s.dropped && s.class != plan.Skipped && s.class != plan.Refused
}
