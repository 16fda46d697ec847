package plan

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// anyPeer is what a registered device becomes where changes of several devices are compared.
var anyPeer = stconfig.Text("*")

// Grouping compares changes of different devices. A person answers equal ones at once.
type Grouping struct {
	Key        []byte // keys the digests: a value may be a secret
	Registered func(fleet.DeviceID) bool
}

// Digest is equal for changes that ask for the same at the same place, apart from which registered devices they name
// in a key or a share list, and which fields with Syncthing's own default their daemons know. Paths, devices that are
// not registered, passwords, the reason of the hold and everything else count.
func (g Grouping) Digest(c Change) string {
	h := hmac.New(sha256.New, g.Key)
	fmt.Fprintf(h, "group %q %s %t %q", g.KeyOf(c.Key).String(), c.Class, c.Returns, c.Reason)
	for _, v := range []stconfig.Value{c.From, c.Sending()} {
		h.Write([]byte{'\n'})
		if v.Exists() {
			stconfig.Normalise(g.value(c.Key, stconfig.WithoutDefaults(c.Key, v))).WriteJSON(h)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// KeyOf is a key with `*` in the place of registered devices.
func (g Grouping) KeyOf(key stconfig.Key) stconfig.Key {
	for i := range key.Len() {
		if namesDevice(key, i) && g.registered(key.At(i).Name) {
			key = key.WithEvery(i)
		}
	}
	return key
}

// namesDevice tells whether name i of a key is a device's ID.
func namesDevice(key stconfig.Key, i int) bool {
	section := key.At(0).Name
	return i == 1 && strings.EqualFold(section, "devices") || i == 3 && strings.EqualFold(section, "folders") &&
		strings.EqualFold(key.At(2).Name, "devices")
}

func (g Grouping) registered(name string) bool {
	id, err := fleet.ParseDeviceID(name)
	return err == nil && g.Registered(id)
}

// value is what is at a key with every registered device in entries of devices and of share lists as anyPeer. Members
// of objects are in the order of their names: daemons of two versions may show them in another one.
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

// asSet sorts values by their text; of equal ones it leaves one.
func asSet(values []stconfig.Value) []stconfig.Value {
	slices.SortFunc(values, func(a, b stconfig.Value) int { return bytes.Compare(a.JSON(), b.JSON()) })
	return slices.CompactFunc(values, stconfig.Value.Equal)
}

// entry is a device's entry, or a share: who it is, how it is called and who introduced it do not count where that is
// a registered device.
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

// Keyed is a digest of the wish that may be kept: what is wished for may be a secret, and cannot be guessed from it.
func (w Wish) Keyed(key []byte) string {
	h := hmac.New(sha256.New, key)
	fmt.Fprintf(h, "wish %x", w)
	return hex.EncodeToString(h.Sum(nil))
}

// RemovesOrCreatesAgain tells a folder or top-level device that goes or comes back because no template asks for what
// is there: an undo wants just that.
func (c Change) RemovesOrCreatesAgain() bool {
	return c.Returns && c.ofMember() && c.From.Exists() != c.To.Exists()
}

// Removes tells whether the change takes a folder or a top-level device from the daemon.
func (c Change) Removes() bool { return c.ofMember() && !c.To.Exists() }

// ofMember tells whether the change is about a whole folder or top-level device.
func (c Change) ofMember() bool {
	if c.Key.Len() != 2 {
		return false
	}
	section := strings.ToLower(c.Key.At(0).Name)
	return section == "folders" || section == "devices"
}
