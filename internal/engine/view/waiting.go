package view

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
)

// WaitingSources is what may wait for a person, as far as the caller may know it.
type WaitingSources struct {
	Registry    *fleet.Registry
	Rows        []*Row // those that wait
	Held        []fleet.HeldGroup
	Pending     []fleet.Pending
	Enrollments []fleet.EnrollmentRequest
	Rollouts    []WaitingRollout
	Stops       []Stop
	Impairments []fleet.Impairment
	Receivers   []fleet.Receiver // those that could not be reached
	// Standing returns the state of a folder on a device. When it is nil, only the state in the row is known.
	Standing func(id fleet.DeviceID, folder string) fleet.FolderStanding
	// Shown returns the certificate that a device showed last. When it is nil, no such certificate is known.
	Shown func(fleet.DeviceID) fleet.Shown
}

// WaitingRollout is a rollout with the members that the caller sees.
type WaitingRollout struct {
	fleet.Rollout
	Whole bool // the caller sees all members
}

// Waiting is everything that waits for a person.
type Waiting struct {
	Groups   []*WaitingGroup // the most severe first, of equal ones those with most devices
	Devices  int             // registered ones that wait, each counted once
	Registry *fleet.Registry // The groups are made of it.
}

// WaitingGroup is a group of things that wait for the same cause and are solved together.
type WaitingGroup struct {
	ID       string // the same as long as the same waits
	Cause    fleet.WaitCause
	Severity fleet.Severity
	Subject  string // "" where the cause says it
	Reason   string
	Next     string
	Since    time.Time
	Count    int             // more than len(Devices) where devices are not named
	Devices  []WaitingDevice // sorted by label

	// Held, Pending, Rollout and Stop are what the person decides about. Each is nil in groups of other causes. Pending
	// belongs to one of the devices.
	Held    *fleet.HeldGroup
	Pending *fleet.Pending
	Rollout *WaitingRollout
	Stop    *Stop
}

// WaitingDevice is a device of a group.
type WaitingDevice struct {
	ID      fleet.DeviceID
	Label   string
	Detail  string             // differs from device to device
	Shown   string             // fingerprint of the certificate that it showed last; "": not known
	Pending *fleet.Pending     // nil in groups of other causes
	Held    []fleet.HeldChange // the held changes of the device; empty in groups of other causes
}

// waitingList builds a list of groups.
type waitingList struct {
	WaitingSources
	rows     map[fleet.DeviceID]*Row
	groups   map[string]*WaitingGroup
	waits    map[fleet.DeviceID]bool
	answered map[fleet.DeviceID]bool // devices of which a held change is in a group
}

// WaitingOf groups what waits for a person.
func WaitingOf(from WaitingSources) Waiting {
	l := &waitingList{WaitingSources: from, rows: make(map[fleet.DeviceID]*Row, len(from.Rows)),
		groups: map[string]*WaitingGroup{}, waits: map[fleet.DeviceID]bool{}, answered: map[fleet.DeviceID]bool{}}
	for _, row := range from.Rows {
		l.rows[row.Device.ID] = row
	}
	l.addHeld()
	l.addRows()
	l.addPending()
	l.addEnrollments()
	l.addRollouts()
	l.addStops()
	l.addImpairments()
	l.addReceivers()
	return l.sorted()
}

// Size returns roughly how many bytes the groups need.
func (w Waiting) Size() (size int64) {
	const group, device = 1500, 300
	for _, g := range w.Groups {
		size += int64(group + device*len(g.Devices))
		if g.Held == nil {
			continue
		}
		for _, c := range g.Held.Changes {
			size += int64(len(c.From) + len(c.To) + len(c.Reason))
		}
	}
	return size
}

func (l *waitingList) sorted() Waiting {
	w := Waiting{Devices: len(l.waits)}
	for _, g := range l.groups {
		slices.SortFunc(g.Devices, func(a, b WaitingDevice) int {
			return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Detail, b.Detail))
		})
		g.Count = max(g.Count, len(g.Devices))
		w.Groups = append(w.Groups, g)
	}
	severity := func(g *WaitingGroup) int { return slices.Index(fleet.Severities, g.Severity) }
	slices.SortFunc(w.Groups, func(a, b *WaitingGroup) int {
		return cmp.Or(cmp.Compare(severity(a), severity(b)), -cmp.Compare(a.Count, b.Count),
			cmp.Compare(a.Cause, b.Cause), cmp.Compare(a.ID, b.ID))
	})
	return w
}

// group returns the group of a cause and of the values that distinguish it from other groups of the cause. It makes a
// new group, with the severity and texts of the cause, when there is none.
func (l *waitingList) group(cause fleet.WaitCause, of ...string) (g *WaitingGroup, isNew bool) {
	sum := sha256.Sum256([]byte(string(cause) + "\x00" + strings.Join(of, "\x00")))
	id := hex.EncodeToString(sum[:12])
	if g = l.groups[id]; g != nil {
		return g, false
	}
	text := fleet.WaitTexts[cause]
	g = &WaitingGroup{ID: id, Cause: cause, Severity: text.Severity, Reason: text.Reason, Next: text.Next}
	l.groups[id] = g
	return g, true
}

// add adds a device to a group.
func (l *waitingList) add(g *WaitingGroup, device WaitingDevice, since time.Time) {
	device.Label = l.Registry.Label(device.ID)
	g.Devices = append(g.Devices, device)
	if !since.IsZero() && (g.Since.IsZero() || since.Before(g.Since)) {
		g.Since = since
	}
	if l.Registry.Devices[device.ID] != nil && g.Cause != fleet.WaitStop { // a stop keeps Muster waiting, not a person
		l.waits[device.ID] = true
	}
}

// since returns when the state of a device began, zero when that is unknown.
func (l *waitingList) since(id fleet.DeviceID) time.Time {
	if row := l.rows[id]; row != nil {
		return row.State.Since
	}
	return time.Time{}
}

// named replaces the device IDs in a text by names.
func (l *waitingList) named(text string) string { return fleet.WithNames(text, l.Registry.Label) }

// addHeld adds the changes that wait for consent. Equal changes of one rollout are one group.
func (l *waitingList) addHeld() {
	for _, held := range l.Held {
		g, _ := l.group(fleet.WaitHeld, held.Digest, fmt.Sprint(held.Rollout))
		g.Subject, g.Reason, g.Held = held.Key, l.named(held.Changes[0].Reason), &held
		if held.Alike() {
			g.Subject = held.Changes[0].Key
		}
		g.Next = "Consent to it, keep what is there, or change the template."
		if !held.Consent && !held.Keep {
			g.Next = "No answer lets it go out: change the template."
		}
		of := map[fleet.DeviceID][]fleet.HeldChange{}
		for _, c := range held.Changes {
			of[c.Device] = append(of[c.Device], c)
		}
		for id, changes := range of {
			l.answered[id] = true
			l.add(g, WaitingDevice{ID: id, Held: changes}, l.since(id))
		}
	}
}

// addRows adds the devices that wait because of their state.
func (l *waitingList) addRows() {
	for _, row := range l.Rows {
		for _, cause := range row.Waits {
			switch {
			case cause == fleet.WaitPendingDevice, cause == fleet.WaitPendingFolder: // addPending knows who asks
			case cause == fleet.WaitHeld && l.answered[row.Device.ID]:
			case cause.OfFolder():
				l.addFolders(cause, row)
			default:
				l.addRow(cause, row)
			}
		}
	}
}

func (l *waitingList) addRow(cause fleet.WaitCause, row *Row) {
	text, part := fleet.WaitTexts[cause], ""
	reason, next := row.State.Reason, row.State.Next
	switch cause {
	case fleet.WaitBroughtBack:
		reason, next = row.State.BroughtBack, text.Next
	case fleet.WaitStale:
		reason, next = text.Reason, text.Next
	}
	if text.ByReason {
		part = reason
	} else if row.Device.Altered {
		part = "altered"
	}
	g, isNew := l.group(cause, part)
	switch {
	case isNew:
		g.Reason, g.Next = reason, next
	case g.Reason != reason:
		g.Reason, g.Next = cmp.Or(text.Reason, g.Reason), text.Next
	case g.Next != next: // it may hold a command for one device
		g.Next = text.Next
	}
	device, since := WaitingDevice{ID: row.Device.ID}, row.State.Since
	if cause == fleet.WaitUnreachable || cause == fleet.WaitStale {
		device.Detail, since = row.State.Reason, row.awaySince()
	}
	if (cause == fleet.WaitPinMismatch || cause == fleet.WaitUnconfirmed) && l.Shown != nil {
		device.Shown, device.Detail = shownBy(row.Device, l.Shown(row.Device.ID))
	}
	l.add(g, device, since)
}

// addFolders adds the folders of a device that have trouble of one kind, each to the group of its folder.
func (l *waitingList) addFolders(cause fleet.WaitCause, row *Row) {
	for _, trouble := range row.Troubles {
		if trouble.Cause != cause {
			continue
		}
		g, isNew := l.group(cause, trouble.Folder)
		g.Subject = trouble.Folder
		if isNew && trouble.Folder == "" {
			g.Reason = "the disk of the daemon's home is nearly full"
		}
		device := WaitingDevice{ID: row.Device.ID}
		if l.Standing != nil {
			reason, next := l.Standing(row.Device.ID, trouble.Folder).Text(cause)
			device.Detail = reason
			if isNew {
				g.Next = cmp.Or(next, g.Next)
			} else if g.Next != next {
				g.Next = fleet.WaitTexts[cause].Next
			}
		}
		l.add(g, device, trouble.Since)
	}
}

// awaySince returns when the device was last seen, or, for a device that was never seen, when its state began.
func (r *Row) awaySince() time.Time {
	if r.State.LastSeen.IsZero() {
		return r.State.Since
	}
	return r.State.LastSeen
}

// shownBy returns the certificate that a device shows instead of the pinned one, and a text about it.
func shownBy(device *fleet.Registered, shown fleet.Shown) (fingerprint, detail string) {
	if shown.Fingerprint == "" {
		return "", "no other certificate was seen since the server started"
	}
	detail = "shows " + shown.Fingerprint + " at " + shown.Address
	if pin := device.Settings.Pin; pin != "" {
		detail += ", pinned is " + pin
	}
	return shown.Fingerprint, detail
}

// addPending adds the pending devices and folders. Those from one asking device are one group.
func (l *waitingList) addPending() {
	for _, asks := range l.Pending {
		if l.Registry.Devices[asks.Device] == nil {
			continue
		}
		from := asks.From.Name(cmp.Or(l.Registry.Label(asks.From), asks.Name))
		cause, subject, reason := fleet.WaitPendingDevice, from, from+" asks to be let in"
		if asks.Folder != "" {
			subject = asks.Folder
			if asks.FolderLabel != "" {
				subject = asks.FolderLabel + " (" + asks.Folder + ")"
			}
			cause, reason = fleet.WaitPendingFolder, from+" offers the folder "+subject
		}
		g, isNew := l.group(cause, string(asks.From), asks.Folder, asks.Revoked)
		if isNew {
			g.Subject, g.Reason, g.Pending = subject, reason, &asks
			if asks.Revoked != "" {
				g.Reason += ", and is not let in: " + asks.Revoked
				g.Next = "Dismiss it: the daemon forgets that it asked."
			}
		}
		device := WaitingDevice{ID: asks.Device, Pending: &asks}
		if asks.Address != "" {
			device.Detail = "asked from " + asks.Address
		}
		l.add(g, device, asks.Since)
	}
}

// addEnrollments adds the devices whose agents ask to be accepted. Those from one address are one group: devices from
// one office probably belong together.
func (l *waitingList) addEnrollments() {
	for _, asks := range l.Enrollments {
		if asks.Status != fleet.EnrollmentWaiting {
			continue
		}
		g, _ := l.group(fleet.WaitEnrollment, asks.Address)
		g.Subject = "from " + asks.Address
		l.add(g, WaitingDevice{ID: asks.Device, Detail: asks.Name + ", " + asks.System}, asks.FirstAt)
	}
}

// RolloutCause returns why a rollout waits for a person, "" when it continues by itself.
func RolloutCause(r fleet.Rollout) fleet.WaitCause {
	switch {
	case r.Status == fleet.RolloutHalted:
		return fleet.WaitRolloutHalted
	case r.Status == fleet.RolloutPaused:
		return fleet.WaitRolloutPaused
	case !r.Status.Over() && r.Unapproved():
		return fleet.WaitRolloutApproval
	}
	return ""
}

func (l *waitingList) addRollouts() {
	for _, r := range l.Rollouts {
		cause := RolloutCause(r.Rollout)
		if cause == "" {
			continue
		}
		g, _ := l.group(cause, fmt.Sprint(r.ID))
		g.Subject, g.Reason, g.Next, g.Rollout = r.Cause, l.named(r.Reason), l.named(r.Next), &r
		for _, m := range r.Members {
			if !r.Admitted(m) && !m.Left() && l.Registry.Devices[m.Device] != nil {
				l.add(g, WaitingDevice{ID: m.Device}, cmp.Or(r.WaveAt, r.CreatedAt))
			}
		}
	}
}

// addStops adds the modes that prevent Muster from writing. Those of single devices are one group for each mode.
func (l *waitingList) addStops() {
	for _, stop := range l.Stops {
		part := string(stop.Scope.Tag)
		if stop.Kind == StopOfDevice {
			part = string(stop.Mode)
		}
		g, isNew := l.group(fleet.WaitStop, string(stop.Kind), part)
		if isNew {
			l.describeStop(g, &stop)
		}
		if stop.Kind == StopOfDevice {
			l.add(g, WaitingDevice{ID: stop.Scope.Device}, stop.Since)
			continue
		}
		g.Since, g.Count = stop.Since, stop.Devices
		for _, row := range l.Rows {
			if stop.Kind == StopOfTag && row.Has(stop.Scope.Tag) {
				l.add(g, WaitingDevice{ID: row.Device.ID}, stop.Since)
			}
		}
	}
}

// describeStop sets the texts and the severity of a stop. A stop of the fleet, or one that a restore has set, is more
// severe than the stop of a tag.
func (l *waitingList) describeStop(g *WaitingGroup, stop *Stop) {
	g.Stop = stop
	if stop.Kind == StopOfFleet || l.Registry.Restored != nil {
		g.Severity = fleet.Warning
	}
	switch stop.Kind {
	case StopOfServer:
		g.Subject, g.Next = "the server", "Start it without --configurator to have it write."
	case StopOfFleet:
		g.Subject = "the fleet"
	case StopOfTag:
		g.Subject = "tag " + string(stop.Scope.Tag)
	case StopOfDevice:
		g.Subject = "single devices"
	}
	g.Reason = "observe only: everything is planned, nothing is written"
	if stop.Mode == fleet.ModePaused {
		g.Reason = "not watched (mode paused): nothing is read or written"
	}
	if stop.By != "" && stop.Kind != StopOfDevice {
		g.Reason += ", set by " + stop.By
	}
}

// addImpairments adds the parts of the service that do not work properly.
func (l *waitingList) addImpairments() {
	for _, i := range l.Impairments {
		g, isNew := l.group(fleet.WaitImpairment, string(i.Part))
		if isNew && i.Blocking {
			g.Severity = fleet.Critical
		}
		g.Subject, g.Reason, g.Next = string(i.Part), i.Reason, i.Next
	}
}

// addReceivers adds the receivers of notifications that cannot be reached.
func (l *waitingList) addReceivers() {
	for _, r := range l.Receivers {
		g, _ := l.group(fleet.WaitReceiver, r.Name)
		g.Subject, g.Since = r.Name, r.Since
		g.Reason = fleet.Counted(r.Waiting, "message waits", "messages wait") + ": " + r.Trouble
	}
}
