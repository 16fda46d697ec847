package plan

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strings"
	"sync"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Equal held changes of several devices are shown as one group, and a person answers those that were shown. The held
// changes are remembered from the last pass over each device, so listing them needs no new plans. After a restart of
// the server a device's held changes are known again once the device had its first pass.

const (
	MaxHeld       = 100      // held changes that are remembered of one device
	maxHeldGroups = 5000     // groups of all devices together
	maxShownBytes = 64 << 10 // bytes of one shown value
	maxHeldBytes  = 32 << 20 // bytes of all shown values, equal ones counted once
	tooLarge      = "too large to be shown and answered here: the plan of the device shows it"
)

// HeldChanges are the held changes of all devices, each from the last pass over its device.
type HeldChanges struct {
	mu       sync.Mutex // guards the rest
	groups   map[string]*heldGroup
	byDevice map[fleet.DeviceID][]*heldGroup
	values   map[[sha256.Size]byte]*heldValue // by valueID; equal values of several devices are kept once
	bytes    int                              // size of values
}

// heldGroup is a set of equal held changes.
type heldGroup struct {
	shown   fleet.HeldGroup // the group as people see it, without its changes
	changes map[fleet.DeviceID][]heldChange
}

// heldChange is a change in a group.
type heldChange struct {
	fleet.HeldChange
	equal string // digest, see Grouping.Equal
}

// heldValue holds the values of a change as people see them. Equal changes share one.
type heldValue struct {
	from, to []byte
	names    fleet.Names
	uses     int // changes that show it
}

// NewHeldChanges makes an empty set.
func NewHeldChanges() *HeldChanges {
	return &HeldChanges{groups: map[string]*heldGroup{}, byDevice: map[fleet.DeviceID][]*heldGroup{},
		values: map[[sha256.Size]byte]*heldValue{}}
}

// NewlyHeld is a held change for Put, with the group that it belongs to. See Grouping.Held.
type NewlyHeld struct {
	Group  fleet.HeldGroup // its Changes are empty
	Change fleet.HeldChange
	Equal  string
}

// Put replaces the held changes of a device.
func (h *HeldChanges) Put(device fleet.DeviceID, held []NewlyHeld) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, g := range h.byDevice[device] {
		for _, c := range g.changes[device] {
			h.release(c.HeldChange)
		}
		if delete(g.changes, device); len(g.changes) == 0 {
			delete(h.groups, g.shown.Digest)
		}
	}
	delete(h.byDevice, device)
	for _, n := range held {
		g := h.group(n.Group)
		if g == nil {
			continue
		}
		if g.changes[device] == nil {
			h.byDevice[device] = append(h.byDevice[device], g)
		}
		g.changes[device] = append(g.changes[device], heldChange{h.share(n.Change), n.Equal})
	}
}

// group returns the group that shown describes, and makes it if it is new. It returns nil if there are too many groups
// already. The caller holds mu.
func (h *HeldChanges) group(shown fleet.HeldGroup) *heldGroup {
	g := h.groups[shown.Digest]
	if g == nil && len(h.groups) < maxHeldGroups {
		g = &heldGroup{shown: shown, changes: map[fleet.DeviceID][]heldChange{}}
		h.groups[shown.Digest] = g
	}
	return g
}

// share returns the change c with its values replaced by the copy that all equal changes share. If there is no room
// for new values, it returns unshown(c). The caller holds mu.
func (h *HeldChanges) share(c fleet.HeldChange) fleet.HeldChange {
	if c.Digest == "" {
		return c
	}
	id, size := valueID(c), len(c.From)+len(c.To)
	v := h.values[id]
	switch {
	case v != nil:
	case h.bytes+size > maxHeldBytes:
		return unshown(c)
	default:
		v = &heldValue{from: c.From, to: c.To, names: c.Names}
		h.values[id] = v
		h.bytes += size
	}
	v.uses++
	c.From, c.To, c.Names = v.from, v.to, v.names
	return c
}

// release is the opposite of share. The caller holds mu.
func (h *HeldChanges) release(c fleet.HeldChange) {
	id := valueID(c)
	v := h.values[id]
	if c.Digest == "" || v == nil {
		return
	}
	if v.uses--; v.uses == 0 {
		delete(h.values, id)
		h.bytes -= len(v.from) + len(v.to)
	}
}

// valueID returns a digest of the key of a change and of its values as people see them.
func valueID(c fleet.HeldChange) [sha256.Size]byte {
	return sha256.Sum256(slices.Concat([]byte(c.Key), []byte{0}, c.From, []byte{0}, c.To))
}

// unshown returns the change with a note in place of its values. It also removes the digest and the choices, so that
// no answer to a group can name the change.
func unshown(c fleet.HeldChange) fleet.HeldChange {
	note := stconfig.Text(tooLarge).JSON()
	c.From, c.To, c.Names, c.Digest, c.Choices = note, note, fleet.Names{}, "", nil
	return c
}

// Groups returns the held changes that wait for an answer, ordered by key. A group has equal changes of devices that
// are in the same rollout, or in none. rollouts has the rollout of each device.
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
		for _, c := range changes {
			parts[rollout].Changes = append(parts[rollout].Changes, c.HeldChange)
		}
	}
	var all []fleet.HeldGroup
	for _, part := range parts {
		sortHeld(part.Changes)
		all = append(all, *part)
	}
	return all
}

func sortHeld(changes []fleet.HeldChange) {
	slices.SortFunc(changes, func(a, b fleet.HeldChange) int {
		return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.Key, b.Key))
	})
}

// Covered lists the changes that a person's answer to a group is for, and the changes of the group that still wait.
type Covered struct {
	Key     string             // the key of the group
	Parts   []CoveredPart      // each has equal changes
	Waiting []fleet.HeldChange // changes of the group that the answer does not cover
}

// CoveredPart lists those of the covered changes that are equal to one another.
type CoveredPart struct {
	Equal   string // see Grouping.Equal
	Changes []fleet.HeldChange
}

// Covers returns the changes that a person's answer is for: each change that was shown and still waits. An answer
// for a whole rollout also covers equal changes of its other members. Covers returns conflict when nothing of what
// was shown still waits. rollouts has the rollout of each device.
func (h *HeldChanges) Covers(a fleet.GroupAnswer, rollouts map[fleet.DeviceID]int64) (Covered, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.groups[a.Digest]
	if g == nil {
		return Covered{}, NothingWaits("no device has a held change with this digest now")
	}
	switch {
	case a.Answer == fleet.AnswerConsent && !g.shown.Consent:
		return Covered{}, fleet.Invalidf("answer", "%s cannot be made here: keep what is there, or change the template",
			g.shown.Key)
	case a.Answer == fleet.AnswerKeep && !g.shown.Keep:
		return Covered{}, fleet.Invalidf("answer",
			"a template asks for the change of %s: change or untag that template to keep what is there", g.shown.Key)
	case a.Answer != fleet.AnswerConsent && a.Answer != fleet.AnswerKeep && !g.offers(a.Answer.Choice()):
		return Covered{}, NotOffered(g.shown.Key, a.Answer.Choice(), g.shown.Choices)
	}
	covered := g.covers(a, rollouts)
	if len(covered.Parts) == 0 {
		return Covered{}, NothingWaits("none of the changes that were shown waits any more")
	}
	return covered, nil
}

// offers reports whether a person may choose the value with this name.
func (g *heldGroup) offers(name string) bool {
	return slices.ContainsFunc(g.shown.Choices, func(c fleet.Choice) bool { return c.Name == name })
}

// covers is Covers for one group.
func (g *heldGroup) covers(a fleet.GroupAnswer, rollouts map[fleet.DeviceID]int64) Covered {
	shown := map[fleet.ShownChange]bool{}
	for _, s := range a.Shown {
		shown[s] = s.Digest != ""
	}
	inRollout := func(id fleet.DeviceID) bool { return a.WholeRollout == 0 || rollouts[id] == a.WholeRollout }
	covered, others := Covered{Key: g.shown.Key}, []heldChange{}
	for device, changes := range g.changes {
		for _, c := range changes {
			if shown[fleet.ShownChange{Device: device, Digest: c.Digest}] && inRollout(device) {
				covered.add(c)
			} else {
				others = append(others, c)
			}
		}
	}
	for _, c := range others {
		if a.WholeRollout != 0 && inRollout(c.Device) && covered.part(c.equal) >= 0 {
			covered.add(c)
		} else {
			covered.Waiting = append(covered.Waiting, c.HeldChange)
		}
	}
	sortHeld(covered.Waiting)
	return covered
}

// add adds a change to the part that has the changes equal to it, or starts a part.
func (c *Covered) add(change heldChange) {
	i := c.part(change.equal)
	if i < 0 {
		i = len(c.Parts)
		c.Parts = append(c.Parts, CoveredPart{Equal: change.equal})
	}
	c.Parts[i].Changes = append(c.Parts[i].Changes, change.HeldChange)
}

// part returns the position of the part with this digest, -1 without one.
func (c *Covered) part(equal string) int {
	return slices.IndexFunc(c.Parts, func(p CoveredPart) bool { return p.Equal == equal })
}

// Changes returns the changes of all parts, by device and key.
func (c *Covered) Changes() (all []fleet.HeldChange) {
	for _, p := range c.Parts {
		all = append(all, p.Changes...)
	}
	sortHeld(all)
	return all
}

// NothingWaits is the conflict that an answer gets if none of its changes waits any more.
func NothingWaits(message string) error {
	return &fleet.Error{Code: fleet.CodeConflict, Message: message,
		Hint: "GET consents, or `muster consent list`, lists what waits now: answer that.",
		See:  fleet.Reference{Subject: fleet.SeeConsents}}
}

// UndoAnswers reports whether the answer of an undo may cover the change: it waits for a person because it removes a
// folder or device, or makes it again, that no template asks for any more. A stopped change waits for no answer.
func (c Change) UndoAnswers() bool {
	return c.Class == Held && !c.Stopped && !c.Dependent && !c.OnlyKeep && c.Returns && c.ofMember() &&
		c.From.Exists() != c.To.Exists()
}

// Removes reports whether the change removes a folder, or a device from the daemon's list of devices.
func (c Change) Removes() bool { return c.ofMember() && !c.To.Exists() }

// ofMember reports whether the change is about a whole folder, or a whole entry in the daemon's list of devices.
func (c Change) ofMember() bool {
	if c.Key.Len() != 2 {
		return false
	}
	section := strings.ToLower(c.Key.At(0).Name)
	return section == "folders" || section == "devices"
}
