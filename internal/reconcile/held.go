package reconcile

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/stconfig"
)

// Equal held changes of several devices are one question. What waits is remembered from the last pass of each device:
// to list it, nothing is planned. It is lost with the process and known again after the first passes.

const (
	maxHeldChanges = 100      // of a device that are remembered
	maxHeldGroups  = 5000     // of all devices
	maxShownBytes  = 16 << 10 // of a value
	maxHeldBytes   = 16 << 20 // of the values of all groups
	tooLarge       = "too large to be shown here; GET devices/{deviceID}/plan has it"
)

// heldChanges are the held changes of the last pass of each device.
type heldChanges struct {
	mu       sync.Mutex // guards the rest
	groups   map[string]*heldGroup
	byDevice map[fleet.DeviceID][]*heldGroup
	bytes    int // of the values of all groups
}

// heldGroup is equal held changes.
type heldGroup struct {
	shown   fleet.HeldGroup // without its devices
	changes map[fleet.DeviceID][]heldChange
}

// heldChange is one of them.
type heldChange struct {
	key       string
	digest    string // of this very change, see consentDigest
	templates []int64
}

func newHeldChanges() *heldChanges {
	return &heldChanges{groups: map[string]*heldGroup{}, byDevice: map[fleet.DeviceID][]*heldGroup{}}
}

// newlyHeld is a held change of a device on its way into its group.
type newlyHeld struct {
	change heldChange
	shown  fleet.HeldGroup
}

// put replaces what waits on a device.
func (h *heldChanges) put(device fleet.DeviceID, held []newlyHeld) {
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
		g := h.group(n.shown)
		if g == nil {
			continue
		}
		if g.changes[device] == nil {
			h.byDevice[device] = append(h.byDevice[device], g)
		}
		g.changes[device] = append(g.changes[device], n.change)
	}
}

// group is the group of a change, made where there is none; nil when there are too many. The caller holds mu.
func (h *heldChanges) group(shown fleet.HeldGroup) *heldGroup {
	g := h.groups[shown.Digest]
	if g != nil || len(h.groups) >= maxHeldGroups {
		return g
	}
	if h.bytes+len(shown.From)+len(shown.To) > maxHeldBytes {
		note := stconfig.Text(tooLarge).JSON()
		shown.From, shown.To = note, note
	}
	h.bytes += len(shown.From) + len(shown.To)
	g = &heldGroup{shown: shown, changes: map[fleet.DeviceID][]heldChange{}}
	h.groups[shown.Digest] = g
	return g
}

// rememberHeld notes which changes of the job's plan wait for an answer.
func (e *Engine) rememberHeld(j *job) {
	var held []newlyHeld
	grouping := e.grouping(j.current)
	for _, c := range j.plan.Changes {
		if !e.waitsForAnswer(j.m, c) || len(held) == maxHeldChanges {
			continue
		}
		from, to := c.Shown()
		held = append(held, newlyHeld{
			change: heldChange{key: c.Key.String(), digest: e.consentDigest(j.m.id, c), templates: c.Templates},
			shown: fleet.HeldGroup{
				Digest: grouping.Digest(c), Key: grouping.KeyOf(c.Key).String(), From: shownJSON(from), To: shownJSON(to),
				Reason: fleet.Bounded(c.Reason), Consent: e.mayBeConsentedTo(j, c), Keep: c.Returns, Removes: c.Removes(),
			},
		})
	}
	e.held.put(j.m.id, held)
}

func (e *Engine) grouping(r *fleet.Registry) plan.Grouping {
	return plan.Grouping{Key: e.o.DigestKey, Registered: func(id fleet.DeviceID) bool { return r.Devices[id] != nil }}
}

// waitsForAnswer tells a held change that needs an answer of its own, and that no open answer is for.
func (e *Engine) waitsForAnswer(m *item, c plan.Change) bool {
	if c.Class != plan.Held || c.Stopped || c.Consented || c.Dependent {
		return false
	}
	_, answered := e.answerTo(m, c)
	return !answered
}

// mayBeConsentedTo tells whether a held change can be made at all.
func (e *Engine) mayBeConsentedTo(j *job, c plan.Change) bool {
	var needed record
	needed.newAccess(c, j.result.Observed())
	return !c.OnlyKeep && (e.o.Access != nil || !needed.moves())
}

func shownJSON(masked stconfig.Value) []byte {
	if masked.JSONSize(maxShownBytes) > maxShownBytes {
		masked = stconfig.Text(tooLarge)
	}
	return masked.JSON()
}

// HeldGroups are the held changes that wait for an answer, equal ones of one rollout together, ordered by key.
func (e *Engine) HeldGroups(ctx context.Context) ([]fleet.HeldGroup, error) {
	rollouts, err := e.o.Store.RolloutsOfDevices(ctx)
	if err != nil {
		return nil, err
	}
	e.held.mu.Lock()
	defer e.held.mu.Unlock()
	all := []fleet.HeldGroup{}
	for _, g := range e.held.groups {
		all = append(all, g.byRollout(rollouts)...)
	}
	slices.SortFunc(all, func(a, b fleet.HeldGroup) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Digest, b.Digest), cmp.Compare(a.Rollout, b.Rollout))
	})
	return all, nil
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
		held := fleet.HeldDevice{Device: device, Templates: changes[0].templates}
		parts[rollout].Devices = append(parts[rollout].Devices, held)
	}
	var all []fleet.HeldGroup
	for _, part := range parts {
		slices.SortFunc(part.Devices, func(a, b fleet.HeldDevice) int { return cmp.Compare(a.Device, b.Device) })
		all = append(all, *part)
	}
	return all
}

// AnswerGroup records a person's answer to equal held changes: for the devices that have them now, and with a rollout
// also for its members that get them later. It names the devices that have them now; what was recorded is acted on
// with their next pass, which begins at once. Conflict: no device that is meant has such a change.
func (e *Engine) AnswerGroup(ctx context.Context, a fleet.GroupAnswer) ([]fleet.DeviceID, error) {
	rollouts, err := e.o.Store.RolloutsOfDevices(ctx)
	if err != nil {
		return nil, err
	}
	key, changes, err := e.held.meant(a, rollouts)
	if err != nil {
		return nil, err
	}
	now, devices := time.Now(), make([]fleet.DeviceID, 0, len(changes))
	consents := make([]fleet.Consent, 0, len(changes))
	for device, those := range changes {
		devices = append(devices, device)
		for _, c := range those {
			consents = append(consents, fleet.Consent{Device: device, Key: c.key, Answer: a.Answer, Change: c.digest,
				By: fleet.ActorOf(ctx), At: now, Until: now.Add(fleet.ConsentTime)})
		}
	}
	// An answer that names devices or a template is for those only, and not for members that come later.
	everyMember := a.Rollout != 0 && len(a.Devices) == 0 && a.Template == 0
	if !everyMember {
		_, err = e.o.Store.PutConsents(ctx, consents)
	} else {
		group := fleet.GroupConsent{Rollout: a.Rollout, Key: key, Change: a.Digest, Answer: a.Answer,
			By: fleet.ActorOf(ctx), At: now}
		_, _, err = e.o.Store.PutGroupConsent(ctx, group, consents)
	}
	if err != nil {
		return nil, during("record the answer", err)
	}
	slices.Sort(devices)
	if !everyMember {
		e.Wake(devices)
		return devices, nil
	}
	var members []fleet.DeviceID // a pass that is under way may have read the answers before this one
	for id, rollout := range rollouts {
		if rollout == a.Rollout {
			members = append(members, id)
		}
	}
	e.Wake(members)
	return devices, nil
}

// Wake plans devices anew: something changed for them that neither the daemon nor the registry shows.
func (e *Engine) Wake(devices []fleet.DeviceID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, id := range devices {
		m := e.item(id)
		m.history.forgetInputs()
		e.push(m)
	}
}

// meant are the changes that an answer is for, and the key of their group.
func (h *heldChanges) meant(a fleet.GroupAnswer, rollouts map[fleet.DeviceID]int64,
) (key string, meant map[fleet.DeviceID][]heldChange, err error) {
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
	meant = map[fleet.DeviceID][]heldChange{}
	for device, changes := range g.changes {
		listed := len(a.Devices) == 0 || slices.Contains(a.Devices, device)
		if !listed || a.Rollout != 0 && rollouts[device] != a.Rollout {
			continue
		}
		for _, c := range changes {
			if a.Template == 0 || slices.Contains(c.templates, a.Template) {
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
