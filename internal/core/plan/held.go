package plan

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Equal held changes of several devices are shown as one group, and a person answers them together. The held changes
// are remembered from the last pass over each device, so listing them needs no new plans. After a restart of the
// server a device's held changes are known again once the device had its first pass.

const (
	MaxHeld       = 100      // held changes that are remembered of one device
	maxHeldGroups = 5000     // groups of all devices together
	maxShownBytes = 16 << 10 // bytes of one shown value
	maxHeldBytes  = 16 << 20 // bytes of all shown values
	tooLarge      = "too large to be shown here: `muster apply DEVICE`, or GET devices/{deviceID}/plan, shows it"
)

// HeldChanges are the held changes of all devices, each from the last pass over its device.
type HeldChanges struct {
	mu       sync.Mutex // guards the rest
	groups   map[string]*heldGroup
	byDevice map[fleet.DeviceID][]*heldGroup
	bytes    int // size of the values of all groups
}

// heldGroup is a set of equal held changes.
type heldGroup struct {
	shown   fleet.HeldGroup // the group as people see it, without its devices
	changes map[fleet.DeviceID][]HeldChange
}

// HeldChange is the held change of one device in a group.
type HeldChange struct {
	Key       string
	Digest    string // ConsentDigest of the change; a person's answer to the change names it
	Templates []int64
}

// NewHeldChanges makes an empty set.
func NewHeldChanges() *HeldChanges {
	return &HeldChanges{groups: map[string]*heldGroup{}, byDevice: map[fleet.DeviceID][]*heldGroup{}}
}

// NewlyHeld is a held change for Put, with the group that it belongs to.
type NewlyHeld struct {
	Change HeldChange
	Shown  fleet.HeldGroup
}

// Put replaces the held changes of a device.
func (h *HeldChanges) Put(device fleet.DeviceID, held []NewlyHeld) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.byDevice[device] {
		if delete(g.changes, device); len(g.changes) == 0 {
			delete(h.groups, g.shown.Digest)
			h.bytes -= len(g.shown.From) + len(g.shown.To)
		}
	}
	delete(h.byDevice, device)
	for _, n := range held {
		n.Shown.Of = device
		g := h.group(n.Shown)
		if g == nil {
			continue
		}
		if g.changes[device] == nil {
			h.byDevice[device] = append(h.byDevice[device], g)
		}
		g.changes[device] = append(g.changes[device], n.Change)
	}
}

// group finds or makes the group that shown describes. It gives nil when there are too many groups. The caller holds
// mu.
func (h *HeldChanges) group(shown fleet.HeldGroup) *heldGroup {
	g := h.groups[shown.Digest]
	if g != nil || len(h.groups) >= maxHeldGroups {
		return g
	}
	if h.bytes+len(shown.From)+len(shown.To) > maxHeldBytes {
		note := stconfig.Text(tooLarge).JSON()
		shown.From, shown.To = note, note
	}
	h.bytes += len(shown.From) + len(shown.To)
	g = &heldGroup{shown: shown, changes: map[fleet.DeviceID][]HeldChange{}}
	h.groups[shown.Digest] = g
	return g
}

// Groups gives the held changes that wait for an answer, ordered by key. A group has equal changes of devices in one
// rollout, or in no rollout. rollouts tells which rollout each device belongs to now.
func (h *HeldChanges) Groups(rollouts map[fleet.DeviceID]int64) []fleet.HeldGroup {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := []fleet.HeldGroup{}
	for _, g := range h.groups {
		all = append(all, g.byRollout(rollouts)...)
	}
	slices.SortFunc(all, func(a, b fleet.HeldGroup) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Digest, b.Digest), cmp.Compare(a.Rollout, b.Rollout))
	})
	return all
}

// byRollout splits a group into one for each rollout that its devices belong to.
func (g *heldGroup) byRollout(rollouts map[fleet.DeviceID]int64) []fleet.HeldGroup {
	parts := map[int64]*fleet.HeldGroup{}
	for device, changes := range g.changes {
		rollout := rollouts[device]
		if parts[rollout] == nil {
			part := g.shown
			part.Rollout = rollout
			parts[rollout] = &part
		}
		held := fleet.HeldDevice{Device: device, Templates: changes[0].Templates}
		parts[rollout].Devices = append(parts[rollout].Devices, held)
	}
	var all []fleet.HeldGroup
	for _, part := range parts {
		slices.SortFunc(part.Devices, func(a, b fleet.HeldDevice) int { return cmp.Compare(a.Device, b.Device) })
		all = append(all, *part)
	}
	return all
}

// Meant gives the held changes that a person's answer is for, by device, and the key of their group.
func (h *HeldChanges) Meant(a fleet.GroupAnswer, rollouts map[fleet.DeviceID]int64,
) (key string, meant map[fleet.DeviceID][]HeldChange, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.groups[a.Digest]
	if g == nil {
		return "", nil, nothingWaits("no device has a held change with this digest now")
	}
	switch {
	case a.Answer == fleet.AnswerConsent && !g.shown.Consent:
		return "", nil, fleet.Invalidf("answer", "%s cannot be made here: keep what is there, or change the template",
			g.shown.Key)
	case a.Answer == fleet.AnswerKeep && !g.shown.Keep:
		return "", nil, fleet.Invalidf("answer",
			"a template asks for the change of %s: change or untag that template to keep what is there", g.shown.Key)
	}
	for _, id := range a.Devices {
		if g.changes[id] == nil {
			return "", nil, nothingWaits(fmt.Sprintf("device %s has no held change with this digest now", id))
		}
	}
	meant = map[fleet.DeviceID][]HeldChange{}
	for device, changes := range g.changes {
		listed := len(a.Devices) == 0 || slices.Contains(a.Devices, device)
		if !listed || a.Rollout != 0 && rollouts[device] != a.Rollout {
			continue
		}
		for _, c := range changes {
			if a.Template == 0 || slices.Contains(c.Templates, a.Template) {
				meant[device] = append(meant[device], c)
			}
		}
	}
	if len(meant) == 0 {
		return "", nil, nothingWaits("none of the devices that are meant has a held change with this digest now")
	}
	return g.shown.Key, meant, nil
}

func nothingWaits(message string) error {
	return &fleet.Error{Code: fleet.CodeConflict, Message: message,
		Hint: "GET consents, or `muster consent list`, lists what waits now: answer that."}
}

// HeldGroup describes, for people, the group that a held change belongs to. Devices are not in it. mayConsent tells
// whether a person may consent to the change here.
func (g Grouping) HeldGroup(c Change, mayConsent bool) fleet.HeldGroup {
	from, to := c.Shown()
	return fleet.HeldGroup{
		Digest: g.Digest(c), Key: g.KeyOf(c.Key).String(), From: shownJSON(from), To: shownJSON(to),
		Reason: fleet.Bounded(c.Reason), Consent: mayConsent, Keep: c.Returns, Removes: c.Removes(),
	}
}

func shownJSON(masked stconfig.Value) []byte {
	if masked.JSONSize(maxShownBytes) > maxShownBytes {
		masked = stconfig.Text(tooLarge)
	}
	return masked.JSON()
}

// anyPeer is put in the place of registered devices where changes of several devices are compared.
var anyPeer = stconfig.Text("*")

// Grouping tells which changes of different devices are equal, so that one answer does for all of them.
type Grouping struct {
	Key        []byte // keys the digests, because a value may be a secret
	Registered func(fleet.DeviceID) bool
}

// Digest is equal for changes that a person can answer together, because they ask for the same at the same key. It
// does not depend on which registered devices a change names in its key or in a share list, nor on fields that have
// Syncthing's own default. It depends on paths, unregistered devices, passwords and the reason why the change is
// held.
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

// KeyOf gives the key with `*` in the place of each registered device.
func (g Grouping) KeyOf(key stconfig.Key) stconfig.Key {
	for i := range key.Len() {
		if namesDevice(key, i) && g.registered(key.At(i).Name) {
			key = key.WithEvery(i)
		}
	}
	return key
}

// namesDevice tells whether the name at position i of a key is a device ID.
func namesDevice(key stconfig.Key, i int) bool {
	section := key.At(0).Name
	return i == 1 && strings.EqualFold(section, "devices") || i == 3 && strings.EqualFold(section, "folders") &&
		strings.EqualFold(key.At(2).Name, "devices")
}

func (g Grouping) registered(name string) bool {
	id, err := fleet.ParseDeviceID(name)
	return err == nil && g.Registered(id)
}

// value gives v, the value at key, with anyPeer in the place of registered devices in device entries and share lists.
// Fields of objects are sorted by name, because daemons of two versions may order them differently.
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

// entry gives a device's entry or a share without what differs between registered devices: its ID, its name and its
// introducer.
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

// RemovesOrCreatesAgain tells whether the change removes a folder or device, or makes it again, because no template
// asks for what is there any more. The undo of a rollout wants just such changes.
func (c Change) RemovesOrCreatesAgain() bool {
	return c.Returns && c.ofMember() && c.From.Exists() != c.To.Exists()
}

// Removes tells whether the change removes a folder, or a device from the daemon's list of devices.
func (c Change) Removes() bool { return c.ofMember() && !c.To.Exists() }

// ofMember tells whether the change is about a whole folder, or a whole entry in the daemon's list of devices.
func (c Change) ofMember() bool {
	if c.Key.Len() != 2 {
		return false
	}
	section := strings.ToLower(c.Key.At(0).Name)
	return section == "folders" || section == "devices"
}
