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

// statement is a planned change without the other devices that it names, which are peers. Changes of several devices
// with the same statement differ only in their peers. Secrets are masked.
type statement struct {
	key           stconfig.Key   // A * replaces a device.
	from, to      stconfig.Value // A whole folder lacks its shares here, a device entry its ID and name.
	isOwn         bool           // The key is the device's own entry or share.
	isWholeFolder bool           // The key is a folder that comes or goes. The peers share it.
	isDropped     bool           // The change is no longer planned.
	class         plan.Class
	reason        string // It names devices by their labels.
	waitsFor      string // Who answers a held change.
	isDrift       bool
	isReturn      bool // No template asks for the place any more.
	hasConsent    bool // The change is held, and a person consented.
	takesAway     bool // A held change removes a whole folder or device entry. Its values may be left out.
}

// peer is another device that a change names.
type peer struct {
	id   fleet.DeviceID
	name string // The label, else the name that the change gives it.
	rest string // What else the change says of it.

	isEncrypted  bool // The peer gets the folder encrypted.
	isRegistered bool
}

// statementOf returns the statement of a device's change, and the other devices that the change names.
func statementOf(own fleet.DeviceID, c plan.Change, isDropped bool, label labelOf) (statement, []peer) {
	from, to := c.Shown()
	s := statement{key: c.Key, from: stconfig.WithoutDefaults(c.Key, from), to: stconfig.WithoutDefaults(c.Key, to),
		isDropped: isDropped, class: c.Class, reason: fleet.WithNames(c.Reason, label), isDrift: c.Drift,
		isReturn: c.Returns, hasConsent: c.Class == plan.Held && c.Consented,
		takesAway: c.Class == plan.Held && c.TakesAway()}
	if c.Class == plan.Held {
		s.waitsFor = waitsFor(c)
	}
	return s, s.separatePeers(own, label)
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

// separatePeers moves the other devices out of the statement and returns them. A * replaces a device in the key.
func (s *statement) separatePeers(own fleet.DeviceID, label labelOf) []peer {
	at, isEntry := 0, false
	switch {
	case s.key.Len() >= 2 && s.in("devices"):
		at, isEntry = 1, s.key.Len() == 2
	case s.key.Len() >= 4 && s.in("folders") && strings.EqualFold(s.key.At(2).Name, "devices"):
		at, isEntry = 3, s.key.Len() == 4
	case s.key.Len() == 2 && s.in("folders") && s.from.Exists() != s.to.Exists():
		return s.separateShares(own, label)
	default:
		return nil
	}
	id := fleet.DeviceID(s.key.At(at).Name)
	s.key = s.key.WithEvery(at)
	if s.isOwn = id == own; s.isOwn {
		return nil
	}
	one := peer{id: id, name: label(id), isRegistered: label(id) != ""}
	if isEntry {
		fromName, toName := separateEntry(&s.from), separateEntry(&s.to)
		named := cmp.Or(toName, fromName)
		if named != "" && named != one.name || fromName != "" && toName != "" && fromName != toName {
			one.rest = fmt.Sprintf("%q %q", fromName, toName)
		}
		one.name = cmp.Or(one.name, named)
		one.isEncrypted = s.to.Get("encryptionPassword").Str() != ""
	}
	return []peer{one}
}

// in reports whether the key is in a section of the configuration.
func (s *statement) in(section string) bool { return strings.EqualFold(s.key.At(0).Name, section) }

// separateEntry removes the ID and the name from a device entry and returns the name.
func separateEntry(entry *stconfig.Value) (name string) {
	if entry.Kind() != stconfig.Object {
		return ""
	}
	name = entry.Get("name").Str()
	*entry = entry.Without("deviceID").Without("name")
	return name
}

// separateShares moves the shares with other devices out of a whole folder and returns them. The device's own share
// stays, if it has more than an ID.
func (s *statement) separateShares(own fleet.DeviceID, label labelOf) (peers []peer) {
	s.isWholeFolder = true
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
			one.isEncrypted = rest.Get("encryptionPassword").Exists()
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
	text := fmt.Appendf(nil, "%q %t %t %t %q %q %q %t %t %t %t", s.key.String(), s.isOwn, s.isWholeFolder,
		s.isDropped, s.class, s.reason, s.waitsFor, s.isDrift, s.isReturn, s.hasConsent, s.takesAway)
	for _, v := range []stconfig.Value{s.from, s.to} {
		text = append(text, '\n')
		if v.Exists() {
			text = inOrder(v).AppendJSON(text)
		}
	}
	return sha256.Sum256(text)
}

// isRemoval reports whether the change removes a place, or entries of a list.
func (s *statement) isRemoval() bool {
	return s.from.Exists() && !s.to.Exists() || s.takesAway || len(s.lostEntries()) > 0
}

// lostEntries returns the entries of a list that the new list does not have, whatever else the new list has. An entry
// with an ID is lost if no entry of the new list has that ID.
func (s *statement) lostEntries() (lost []stconfig.Value) {
	if s.from.Kind() != stconfig.Array || s.to.Kind() != stconfig.Array {
		return nil
	}
	left := map[string]int{} // entries of the new list that are not matched with an old one
	for entry := range s.to.Values() {
		left[entryName(entry)]++
	}
	for entry := range s.from.Values() {
		name := entryName(entry)
		if left[name] == 0 {
			lost = append(lost, entry)
			continue
		}
		left[name]--
	}
	return lost
}

// entryName is the ID of an entry of a list, or the whole entry if it has none.
func entryName(entry stconfig.Value) string {
	for _, field := range []string{"id", "deviceID"} {
		if id := entry.Get(field).Str(); id != "" {
			return field + " " + id
		}
	}
	return string(inOrder(entry).JSON())
}

// hasNoValues reports whether neither value is known: a report left them out because of their size.
func (s *statement) hasNoValues() bool { return !s.from.Exists() && !s.to.Exists() }

// isMade reports whether the change is made, at once or after an answer.
func (s *statement) isMade() bool {
	return !s.isDropped && s.class != plan.Skipped && s.class != plan.Refused
}
