package plan

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// Equal held changes of several devices are one question. What waits is remembered from the last pass of each device:
// to list it, nothing is planned. It is lost with the process and known again after the first passes.

const (
	MaxHeld       = 100      // changes of a device that are remembered
	maxHeldGroups = 5000     // of all devices
	maxShownBytes = 16 << 10 // of a value
	maxHeldBytes  = 16 << 20 // of the values of all groups
	tooLarge      = "too large to be shown here: `muster apply DEVICE`, or GET devices/{deviceID}/plan, shows it"
)

// HeldChanges are the held changes of the last pass of each device.
type HeldChanges struct {
	mu       sync.Mutex // guards the rest
	groups   map[string]*heldGroup
	byDevice map[fleet.DeviceID][]*heldGroup
	bytes    int // of the values of all groups
}

// heldGroup is equal held changes.
type heldGroup struct {
	shown   fleet.HeldGroup // without its devices
	changes map[fleet.DeviceID][]HeldChange
}

// HeldChange is one of them.
type HeldChange struct {
	Key       string
	Digest    string // of this very change, for the answer to it
	Templates []int64
}

// NewHeldChanges are none.
func NewHeldChanges() *HeldChanges {
	return &HeldChanges{groups: map[string]*heldGroup{}, byDevice: map[fleet.DeviceID][]*heldGroup{}}
}

// NewlyHeld is a held change of a device on its way into its group.
type NewlyHeld struct {
	Change HeldChange
	Shown  fleet.HeldGroup
}

// Put replaces what waits on a device.
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

// group is the group of a change, made where there is none; nil when there are too many. The caller holds mu.
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

// Groups are the held changes that wait for an answer, equal ones of one rollout together, ordered by key. rollouts are
// those that speak for devices.
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

// byRollout splits a group by the rollouts that speak for its devices.
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

// Meant are the changes that an answer is for, and the key of their group.
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
		Hint: "GET consents, or `muster consents`, lists what waits now: answer that."}
}

// HeldGroup is the group of a held change, as it is shown: equal changes of other devices have the same.
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
