package httpapi

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"muster/api"
	"muster/internal/auth"
	"muster/internal/fleet"
	"muster/internal/health"
)

// Causes that are of no single row of the inventory.
const (
	waitsEnrollment      health.Cause = "enrollment"
	waitsRolloutHalted   health.Cause = "rolloutHalted"
	waitsRolloutPaused   health.Cause = "rolloutPaused"
	waitsRolloutApproval health.Cause = "rolloutApproval"
	waitsStop            health.Cause = "stop"
	waitsImpairment      health.Cause = "impairment"
	waitsReceiver        health.Cause = "receiver"
)

// heldChanges are the changes that wait for consent, equal ones of one rollout together.
func (l *waitingList) heldChanges() error {
	if l.Consents == nil {
		return nil
	}
	groups, err := l.groupsFor(l.ctx)
	if err != nil {
		return err
	}
	for _, held := range groups {
		shown := wireGroup(held, l.registry)
		g, _ := l.group(string(health.Held), warning, held.Digest, fmt.Sprint(held.Rollout))
		g.Subject, g.Reason, g.From, g.To = shown.Key, shown.Reason, shown.From, shown.To
		g.Rollout, g.Templates = shown.Rollout, shown.Templates
		g.Next = "Consent to it, keep what is there, or change the template."
		if len(shown.Answers) == 0 {
			g.Next = "No answer lets it go out: change the template."
		}
		for _, answer := range shown.Answers {
			g.Actions = append(g.Actions, answerTo(held, fleet.Answer(answer)))
		}
		for _, device := range held.Devices {
			l.answered[device.Device] = true
			l.add(g, device.Device, l.since(device.Device), "")
		}
	}
	return nil
}

func answerTo(held fleet.HeldGroup, answer fleet.Answer) api.WaitingAction {
	given := string(answer)
	command := "muster consent " + held.Digest[:min(12, len(held.Digest))]
	if held.Rollout != 0 {
		command += fmt.Sprintf(" --rollout %d", held.Rollout)
	}
	needs := permissionFor(held)
	if answer == fleet.AnswerKeep {
		needs, command = auth.Apply, command+" --keep"
	}
	body := api.AnswerConsents{Digest: &held.Digest, Answer: &given, Rollout: held.Rollout}
	action := typed(act(given, http.MethodPost, "/consents", body, needs), command)
	action.Removes = held.Removes && answer == fleet.AnswerConsent
	return action
}

// rowCause is how the devices that wait for one cause are shown.
type rowCause struct {
	severity     string
	reason, next string // of devices whose own texts differ
	byReason     bool   // devices with another reason are another group
	actions      []api.WaitingAction
}

var onePath = "/devices/{deviceID}"

// trustShown pins the certificate that a device showed last.
var trustShown = typed(forEach(act("trust", http.MethodPost, onePath+"/trust",
	map[string]string{"fingerprint": "{fingerprint}"}, auth.WriteSettings)), "muster device trust {deviceID}")

var applyPlan = typed(answeredBy(forEach(act("apply", http.MethodPost, onePath+"/apply",
	map[string]string{"digest": "{digest}"}, auth.Apply)), "digest"), "muster apply {deviceID}")

var rowCauses = map[health.Cause]rowCause{
	health.Held:   {severity: warning, byReason: true},
	health.Failed: {severity: critical, byReason: true},
	health.Contended: {severity: warning, byReason: true, actions: []api.WaitingAction{applyPlan},
		next: "Agree with those who set the key back, change the template, or apply the plan."},
	health.Unstable: {severity: warning, byReason: true, actions: []api.WaitingAction{applyPlan},
		next: "Make the templates say the same, or apply the plan."},
	health.PinMismatch: {severity: critical, actions: []api.WaitingAction{trustShown},
		reason: "another certificate is shown than the pinned one: no API key is sent",
		next:   "Compare each fingerprint with that of the daemon's own certificate, then trust it."},
	health.IdentityMismatch: {severity: critical, reason: "another daemon answers at the address",
		next: "Correct the address of each device."},
	health.KeyRefused: {severity: warning, reason: "the daemons do not take their API keys",
		next: "Run `muster enroll` on each daemon's machine, or copy its API key (Actions > Settings > GUI)."},
	health.Unconfirmed: {severity: warning, actions: []api.WaitingAction{trustShown},
		reason: "where they were found is anybody's word, and no certificate is pinned: no API key is sent",
		next:   "Compare each fingerprint with that of the daemon's own certificate, then trust it."},
	health.Cloned: {severity: critical, reason: "two agents connect with the certificate of one device",
		next: "Give one of the two machines an identity of its own: remove cert.pem and key.pem from its Syncthing home " +
			"while its daemon is stopped."},
}

// devices are those that a state keeps waiting.
func (l *waitingList) devices() error {
	for _, row := range l.rows {
		for _, cause := range row.wire.Waits {
			of, known := rowCauses[health.Cause(cause)]
			if !known || health.Cause(cause) == health.Held && l.answered[row.device.ID] {
				continue
			}
			l.addRow(health.Cause(cause), of, row)
		}
	}
	return nil
}

func (l *waitingList) addRow(cause health.Cause, of rowCause, row *inventoryRow) {
	part := ""
	if of.byReason {
		part = row.wire.Reason
	} else if row.device.Altered {
		part = "altered"
	}
	g, isNew := l.group(string(cause), of.severity, part)
	switch {
	case isNew:
		g.Reason, g.Next, g.Actions = row.wire.Reason, row.wire.Next, slices.Clone(of.actions)
	case g.Reason != row.wire.Reason:
		g.Reason, g.Next = cmp.Or(of.reason, g.Reason), of.next
	case g.Next != row.wire.Next: // it may hold a command for one device
		g.Next = of.next
	}
	if cause != health.PinMismatch && cause != health.Unconfirmed {
		l.add(g, row.device.ID, l.since(row.device.ID), "")
		return
	}
	detail, fingerprint := l.shownBy(row.device)
	if fingerprint == "" { // as of an altered device, which is not contacted
		for i, action := range g.Actions {
			g.Actions[i] = answeredBy(action, "fingerprint")
		}
	}
	l.add(g, row.device.ID, l.since(row.device.ID), detail, "fingerprint", fingerprint)
}

// shownBy is the certificate that a device shows in the place of the pinned one.
func (l *waitingList) shownBy(device *fleet.Registered) (detail, fingerprint string) {
	if l.Trust == nil {
		return "", ""
	}
	_, shown := l.Trust.Certificates(device.ID)
	if shown.Fingerprint == "" {
		return "no certificate was seen since the server started", ""
	}
	detail = "shows " + shown.Fingerprint + " at " + shown.Address
	if pin := device.Settings.Pin; pin != "" {
		detail += ", pinned is " + pin
	}
	return detail, shown.Fingerprint
}

// pending are the devices and folders that ask to be let in, those of one asker together.
func (l *waitingList) pending() error {
	if l.Pending == nil {
		return nil
	}
	for _, asks := range l.Pending.Pending() {
		if l.registry.Devices[asks.Device] == nil {
			continue
		}
		shown := wirePending(l.registry, asks)
		from := asks.From.Name(cmp.Or(shown.FromLabel, shown.Name))
		cause, subject, reason := health.PendingDevice, from, from+" asks to be let in"
		if asks.Folder != "" {
			subject = asks.Folder
			if asks.FolderLabel != "" {
				subject = asks.FolderLabel + " (" + asks.Folder + ")"
			}
			cause, reason = health.PendingFolder, from+" offers the folder "+subject
		}
		g, isNew := l.group(string(cause), info, string(asks.From), asks.Folder)
		if isNew {
			g.Subject, g.Reason, g.Next = subject, reason, "Accept it, or dismiss it: the device may ask again."
			g.Actions = pendingActions(asks)
		}
		detail := ""
		if asks.Address != "" {
			detail = "asked from " + asks.Address
		}
		l.add(g, asks.Device, asks.Since, detail, "pendingID", shown.ID)
	}
	return nil
}

func pendingActions(asks fleet.Pending) []api.WaitingAction {
	const path = "/pending/{pendingID}"
	accept := forEach(act("accept", http.MethodPost, path+"/accept", map[string]string{}, auth.WriteDevices))
	command := "muster pending accept {pendingID}"
	if asks.Folder != "" { // where to keep it
		accept = answeredBy(forEach(act("accept", http.MethodPost, path+"/accept", map[string]string{"path": "{path}"},
			auth.WriteDevices)), "path")
		command += " --path {path}"
	}
	return []api.WaitingAction{
		typed(accept, command),
		typed(forEach(act("dismiss", http.MethodDelete, path, nil, auth.Apply)), "muster pending dismiss {pendingID}"),
	}
}

// enrollments are the devices whose agents ask to be accepted, those from one address together: equal names from one
// office are probably one purchase, and from elsewhere they are probably not.
func (l *waitingList) enrollments() error {
	if l.Enrollments == nil || !l.whole {
		return nil
	}
	all, err := l.Enrollments.Requests(l.ctx)
	if fleet.CodeOf(err) == fleet.CodeUnavailable { // the part that is not there is listed itself
		return nil
	}
	if err != nil {
		return err
	}
	for _, asks := range all {
		if asks.Status != fleet.EnrollmentWaiting {
			continue
		}
		g, isNew := l.group(string(waitsEnrollment), info, asks.Address)
		if isNew {
			g.Subject, g.Reason = "from "+asks.Address, "agents of devices that are not registered ask to be accepted"
			g.Next = "Compare each device ID with that of the machine, then accept or reject it."
			g.Actions = enrollmentActions
		}
		l.add(g, asks.Device, asks.FirstAt, strings.Join([]string{asks.Name, asks.System}, ", "))
	}
	return nil
}

var enrollmentActions = []api.WaitingAction{
	typed(forEach(act("accept", http.MethodPost, "/enrollments/{deviceID}/accept", map[string]string{},
		auth.ManageEnrollment)), "muster enrollment accept {deviceID}"),
	typed(forEach(act("dismiss", http.MethodPost, "/enrollments/{deviceID}/reject", nil, auth.ManageEnrollment)),
		"muster enrollment reject {deviceID}"),
}

// rollouts are those that go on only when a person says so.
func (l *waitingList) rollouts() error {
	if l.Rollouts == nil {
		return nil
	}
	all, err := l.rolloutsFor(l.ctx)
	if fleet.CodeOf(err) == fleet.CodeUnavailable { // what else waits is in memory, and wanted now more than ever
		_, known := classify(err)
		g, _ := l.group(string(waitsImpairment), critical, "rollouts")
		g.Subject, g.Reason, g.Next = "rollouts", "they cannot be read: "+fleet.Reason(err), known.Hint
		return nil
	}
	if err != nil {
		return err
	}
	for _, listed := range all {
		cause, severity := waitsFor(listed)
		if cause == "" {
			continue
		}
		whole, err := l.Rollouts.Rollout(l.ctx, listed.ID)
		if err != nil {
			return err
		}
		part, err := l.rolloutSeen(l.ctx, whole)
		if fleet.CodeOf(err) == fleet.CodeNotFound { // no member is in the scope any more
			continue
		}
		if err != nil {
			return err
		}
		g, _ := l.group(string(cause), severity, fmt.Sprint(part.ID))
		shown := wireRollout(part, l.registry)
		g.Subject, g.Reason, g.Next, g.Rollout = shown.Cause, shown.Reason, shown.Next, part.ID
		for _, m := range part.Members {
			if !part.Admitted(m) && l.registry.Devices[m.Device] != nil {
				l.add(g, m.Device, cmp.Or(part.WaveAt, part.CreatedAt), "")
			}
		}
		if len(part.Members) == len(whole.Members) { // to steer it steers all of them
			g.Actions = rolloutActions(part.ID, cause)
		}
	}
	return nil
}

// waitsFor is why a rollout waits for a person; "" when it does not.
func waitsFor(r fleet.Rollout) (cause health.Cause, severity string) {
	switch {
	case r.Status == fleet.RolloutHalted:
		return waitsRolloutHalted, critical
	case r.Status == fleet.RolloutPaused:
		return waitsRolloutPaused, info
	case !r.Status.Over() && r.Unapproved():
		return waitsRolloutApproval, warning
	}
	return "", ""
}

func rolloutActions(id int64, cause health.Cause) []api.WaitingAction {
	steer := func(verb string, needs auth.Permission) api.WaitingAction {
		return typed(act(verb, http.MethodPost, fmt.Sprintf("/rollouts/%d/%s", id, verb), nil, needs),
			fmt.Sprintf("muster rollout %s %d", verb, id))
	}
	resume, undo := steer("resume", auth.Apply), steer("undo", auth.WriteTemplates)
	switch cause {
	case waitsRolloutApproval:
		return []api.WaitingAction{steer("approve", auth.Approve), undo}
	case waitsRolloutPaused:
		return []api.WaitingAction{resume, undo}
	}
	return []api.WaitingAction{undo, resume} // what halted it is there still
}
