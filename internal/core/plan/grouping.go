package plan

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// anyPeer replaces registered devices in values when changes of several devices are compared.
var anyPeer = stconfig.Text("*")

// Grouping finds out which held changes of different devices are equal, so that a person can answer them together.
type Grouping struct {
	Key        []byte // keys the digests, because a value may be a secret
	Registered func(fleet.DeviceID) bool
	Templates  []fleet.Template // templates of the device whose changes are grouped
}

// Held returns the held change c of a device as people see it and as HeldChanges.Put takes it, with the group of equal
// changes that it belongs to. mayConsent says whether one answer to the whole group may consent to this change.
func (g Grouping) Held(id fleet.DeviceID, c Change, mayConsent bool) NewlyHeld {
	n := NewlyHeld{
		Group: fleet.HeldGroup{Digest: g.digest(c, mayConsent), Key: g.KeyOf(c.Key).String(), Templates: c.Templates,
			Consent: mayConsent, Keep: c.Returns, Choices: c.Choices(), Removes: c.Removes()},
		Change: fleet.HeldChange{Device: id, Key: c.Key.String(), Reason: fleet.Bounded(c.Reason),
			Digest: c.ConsentDigest(id, g.Key)},
		Equal: g.Equal(c),
	}
	from, to := c.Shown()
	if from.JSONSize(maxShownBytes) > maxShownBytes || to.JSONSize(maxShownBytes) > maxShownBytes {
		n.Change = unshown(n.Change)
		return n
	}
	n.Change.Choices = g.choicesOf(id, c)
	n.Change.From, n.Change.To, n.Change.Names = from.JSON(), to.JSON(), namesIn(c.Key, c.From, c.To)
	return n
}

// choicesOf returns the consent digest of the change for each value that a person may choose, by the name of the
// value; nil if the change offers no choice.
func (g Grouping) choicesOf(id fleet.DeviceID, c Change) map[string]string {
	var digests map[string]string
	for _, choice := range c.Choices() {
		if chosen, ok := c.Choosing(choice.Name); ok {
			if digests == nil {
				digests = map[string]string{}
			}
			digests[choice.Name] = chosen.ConsentDigest(id, g.Key)
		}
	}
	return digests
}

// digest returns the same text for changes that are shown as one group: changes with the same Equal, and changes of
// one key whose values a template computes for each device.
func (g Grouping) digest(c Change, mayConsent bool) string {
	if !g.computed(c) {
		return g.mac("group %s %t", g.Equal(c), mayConsent)
	}
	return g.mac("computed %s %q %t %t %t", g.asked(c), g.KeyOf(c.Key).String(), c.Removes(), c.Returns, mayConsent)
}

// Equal returns the same digest for equal changes of different devices: one revision of the same templates asks for
// the same value at the same key. It ignores which registered devices a change names in its key or in a share list,
// and fields that have Syncthing's own default. Paths, unregistered devices, passwords and the reason why the change
// is held do count.
func (g Grouping) Equal(c Change) string {
	h := hmac.New(sha256.New, g.Key)
	reason := fleet.WithNames(c.grounds(), func(id fleet.DeviceID) string {
		if g.Registered(id) {
			return "*"
		}
		return string(id)
	})
	fmt.Fprintf(h, "equal %s %q %s %t %q", g.asked(c), g.KeyOf(c.Key).String(), c.Class, c.Returns, reason)
	for _, v := range []stconfig.Value{c.From, c.Sending()} {
		h.Write([]byte{'\n'})
		if v.Exists() {
			stconfig.Normalise(g.value(c.Key, stconfig.WithoutDefaults(c.Key, v))).WriteJSON(h)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// asked identifies the templates that ask for a change, in their present revision.
func (g Grouping) asked(c Change) string {
	h := sha256.New()
	for _, id := range c.Templates {
		t := g.template(id)
		fmt.Fprintf(h, "%d %s %q %q\n", id, t.Op, t.Key, t.Text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// computed reports whether a template that asks for the change may ask for another value on another device.
func (g Grouping) computed(c Change) bool {
	return slices.ContainsFunc(c.Templates, func(id int64) bool {
		reads := g.template(id).Reads.OrAll()
		return reads.Device != "" || reads.Config || reads.ReadsFleet()
	})
}

// template returns the template with this ID, or an empty one where it does not apply to the device any more.
func (g Grouping) template(id int64) fleet.Template {
	for _, t := range g.Templates {
		if t.ID == id {
			return t
		}
	}
	return fleet.Template{}
}

func (g Grouping) mac(format string, values ...any) string {
	h := hmac.New(sha256.New, g.Key)
	fmt.Fprintf(h, format, values...)
	return hex.EncodeToString(h.Sum(nil))
}

// KeyOf returns the key with `*` in the place of each registered device.
func (g Grouping) KeyOf(key stconfig.Key) stconfig.Key {
	for i := range key.Len() {
		if namesDevice(key, i) && g.registered(key.At(i).Name) {
			key = key.WithEvery(i)
		}
	}
	return key
}

// namesDevice reports whether the name at position i of a key is a device ID.
func namesDevice(key stconfig.Key, i int) bool {
	section := key.At(0).Name
	return i == 1 && strings.EqualFold(section, "devices") || i == 3 && strings.EqualFold(section, "folders") &&
		strings.EqualFold(key.At(2).Name, "devices")
}

func (g Grouping) registered(name string) bool {
	id, err := fleet.ParseDeviceID(name)
	return err == nil && g.Registered(id)
}

// value returns v, the value at key, with anyPeer instead of registered devices in device entries and share lists. It
// sorts the fields of objects by name, because daemons of two versions may order them differently.
func (g Grouping) value(key stconfig.Key, v stconfig.Value) stconfig.Value {
	switch v.Kind() {
	case stconfig.Object:
		last := key.Len() - 1
		if last >= 0 && namesDevice(key, last) {
			v = g.entry(v)
		}
		members := make([]stconfig.Member, v.Len())
		for i := range members {
			members[i] = stconfig.Member{Name: v.Name(i), Value: g.value(key.Child(v.Name(i)), v.At(i))}
		}
		slices.SortFunc(members, func(a, b stconfig.Member) int { return strings.Compare(a.Name, b.Name) })
		return stconfig.Obj(members...)
	case stconfig.Array:
		values := make([]stconfig.Value, 0, v.Len())
		for member := range v.Values() {
			values = append(values, g.value(key.Child(identityOf(member)), member))
		}
		if namesDevice(key.Child(""), key.Len()) {
			values = asSet(values)
		}
		return stconfig.List(values...)
	}
	return v
}

// asSet sorts values by their text and drops duplicates.
func asSet(values []stconfig.Value) []stconfig.Value {
	slices.SortFunc(values, func(a, b stconfig.Value) int { return bytes.Compare(a.JSON(), b.JSON()) })
	return slices.CompactFunc(values, stconfig.Value.Equal)
}

// entry returns v, a device's entry or a share, with anyPeer instead of what differs between registered devices: the
// ID and name of a registered device, and an introducer that is registered.
func (g Grouping) entry(v stconfig.Value) stconfig.Value {
	known := g.registered(v.Get("deviceID").Str())
	for i := range v.Len() {
		switch name := v.Name(i); {
		case known && strings.EqualFold(name, "deviceID"), known && strings.EqualFold(name, "name"),
			strings.EqualFold(name, "introducedBy") && g.registered(v.At(i).Str()):
			v = v.With(name, anyPeer)
		}
	}
	return v
}
