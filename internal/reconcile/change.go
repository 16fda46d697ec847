package reconcile

import (
	"context"
	"fmt"
	"slices"

	"muster/internal/desired"
	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/stconfig"
)

// A person's own change of one device's configuration, which no template asks for, goes through the same queue and the
// same pipeline as the plans of templates: read, plan, guard, intent, fresh read, narrow writes, read back, outcome.

const changeTries = 3 // of one change, while a person edits at the daemon

// change is a restore or an amendment under way.
type change struct {
	what    string // for the record
	cause   string // of the revision that it makes
	done    string // the result when it was sent
	nothing string // the result when there is nothing to send
	amends  bool   // an amendment: all of it is done, or nothing is sent

	section stconfig.Key
	target  func(ctx context.Context, j *job) (stconfig.Value, error)
	role    fleet.Role // of the person
	digest  string     // of the plan that they saw; "" when they consent to nothing
	consent []string

	wanted []stconfig.Change // by the newest plan
	out    plan.Restored
}

// Restore brings a device's configuration, or a section of it, back to a revision. What templates write stays theirs;
// so do the daemon's password and how its API is reached.
func (e *Engine) Restore(
	ctx context.Context, id fleet.DeviceID, number int64, what plan.RestoreRequest,
) (plan.Restored, error) {
	section, err := plan.ParseSection(what.Section)
	if err != nil {
		return plan.Restored{}, err
	}
	if err := e.mayRestore(ctx, id, number); err != nil {
		return plan.Restored{}, err
	}
	c := &change{
		cause: fleet.CauseRestore, what: fmt.Sprintf("restore of revision %d", number),
		done:    fmt.Sprintf("revision %d restored", number),
		nothing: fmt.Sprintf("nothing that can be restored differs from revision %d", number),
		section: section, role: fleet.RoleOf(ctx), digest: what.Digest, consent: what.Consent,
		target: func(ctx context.Context, j *job) (stconfig.Value, error) { return e.restorable(ctx, j, number) },
	}
	answered, err := e.await(ctx, id, &request{change: c})
	if !answered {
		return plan.Restored{}, err
	}
	return c.out, err
}

// mayRestore checks that a revision is kept and can be restored, also while the daemon is offline.
func (e *Engine) mayRestore(ctx context.Context, id fleet.DeviceID, number int64) error {
	return e.o.Memory.Do(ctx, func(ctx context.Context) error {
		left := int64(maxCompared)
		_, err := e.revision(ctx, id, number, &left)
		return err
	})
}

// restorable is what restoring a revision makes of the document of a job. The job reads the revision once: the
// revision may be deleted before the job reads the daemon back.
func (e *Engine) restorable(ctx context.Context, j *job, number int64) (stconfig.Value, error) {
	if !j.revision.Exists() {
		var err error
		left := int64(maxCompared)
		if j.revision, err = e.revision(ctx, j.m.id, number, &left); err != nil {
			return stconfig.Value{}, err
		}
	}
	return stconfig.Restorable(j.revision, j.doc), nil
}

// Amend makes a person's change. What is so already is no error. It is a conflict where the change would have to wait
// for consent, where nothing is written to the device, and where templates would take it back.
func (e *Engine) Amend(ctx context.Context, id fleet.DeviceID, what string,
	to func(stconfig.Value) (stconfig.Value, error)) error {
	_, err := e.await(ctx, id, &request{change: &change{
		what: what, cause: fleet.CauseAccept, done: what, amends: true, role: fleet.RoleOf(ctx),
		target: func(_ context.Context, j *job) (stconfig.Value, error) { return to(j.doc) },
	}})
	return err
}

// carryOut plans a change, decides whether it may be sent, and sends it. Where the daemon's document moved before the
// first write, all of it is done again: what a person wrote there meanwhile is not written over.
func (e *Engine) carryOut(ctx context.Context, j *job, c *change) error {
	j.change = c
	defer j.closeSession()
	defer c.report()
	for range changeTries {
		if err := e.planAnew(ctx, j); err != nil {
			return err
		}
		if send, err := e.maySend(ctx, j); err != nil || !send {
			return err
		}
		planned := j.plan
		if err := e.send(ctx, j); err != nil {
			return err
		}
		if len(j.sent) > 0 {
			return e.concludeChange(ctx, j, planned)
		}
	}
	return &fleet.Error{Code: fleet.CodeUnavailable, During: c.what,
		Message: "the daemon's configuration keeps changing: nothing was written",
		Hint:    "Ask again when no person edits it."}
}

// report makes the result of a change an answer that may wait: it holds no part of the documents, and its values only
// within the bound of a report.
func (c *change) report() {
	room := plan.MaxReported
	c.out.Plan.Changes, c.out.Left = plan.ForReport(c.out.Plan.Changes, &room), plan.ForReport(c.out.Left, &room)
	c.wanted = nil
}

// planAnew plans from what the daemon has now.
func (e *Engine) planAnew(ctx context.Context, j *job) error {
	if j.session == nil {
		if err := e.openSession(ctx, j); err != nil {
			return err
		}
	}
	if err := e.read(ctx, j); err != nil {
		return err
	}
	return e.planChange(ctx, j)
}

// planChange makes the plan of a person's change from the document that the job holds.
func (e *Engine) planChange(ctx context.Context, j *job) error {
	c := j.change
	target, err := c.target(ctx, j)
	if err != nil {
		return err
	}
	c.wanted, c.out.Left = plan.ByPerson(c.section, j.doc, target, j.entries)
	if j.plan, err = plan.Make(e.changeInput(ctx, j)); err != nil {
		return err
	}
	for _, planned := range j.plan.Changes {
		if planned.Class == plan.Refused {
			c.out.Left = append(c.out.Left, planned)
		}
	}
	c.out.Plan = j.plan
	return j.plan.CheckConsent(c.digest, c.consent)
}

// changeInput is judged as what an admin asks for only where an admin asks.
func (e *Engine) changeInput(ctx context.Context, j *job) plan.Input {
	c := j.change
	desired := stconfig.Patch(j.doc, c.wanted)
	byAdmins := func() stconfig.Value { return j.doc }
	if c.role == fleet.RoleAdmin {
		byAdmins = func() stconfig.Value { return desired }
	}
	return plan.Input{
		Device: j.m.id, Generation: j.current.Generation, Observed: j.doc, Digest: j.digest, Desired: desired,
		ByAdmins: byAdmins, Facts: e.guardFacts(ctx, j),
		Consent: func(planned plan.Change) bool { return slices.Contains(c.consent, planned.Key.String()) },
	}
}

// keptByChange are the device's entries with the places of the change as the person's, also where Muster wrote the
// same value earlier. They are never nil, which would leave the stored entries as they are. They are recorded with the
// intent: a change that is interrupted is the person's as far as it went.
func (j *job) keptByChange() ([]fleet.BaseEntry, error) {
	var keys []stconfig.Key
	for _, c := range j.plan.Sendable() {
		keys = append(keys, c.Key)
	}
	return desired.Keep(j.entries, keys, j.doc)
}

// maySend tells whether the planned change is to be sent now. What keeps a restore is in its result; what keeps an
// amendment is a conflict.
func (e *Engine) maySend(ctx context.Context, j *job) (bool, error) {
	c := j.change
	if c.amends {
		if len(c.out.Left) > 0 {
			left := c.out.Left[0]
			return false, conflict(fmt.Sprintf("%s cannot be changed: %s", left.Key, left.Reason),
				"Change the templates, or do it at the daemon.")
		}
		if len(j.plan.Changes) == 0 {
			return false, nil
		}
		c.nothing = "the daemon cannot take it: " + j.plan.Changes[0].Reason
	}
	if c.waits(j.mode) {
		if c.amends {
			return false, conflict(c.out.Reason, c.out.Next)
		}
		return false, nil
	}
	if !c.amends {
		return true, nil
	}
	why, err := e.takenBack(ctx, j, c.wanted, func(c stconfig.Change, is stconfig.Value) bool {
		return c.From.Exists() && !is.Equal(c.To) || !is.Exists()
	})
	if err != nil || why == "" {
		return err == nil, err
	}
	return false, conflict(why, "Put it into the template, or take the template's tag off the device.")
}

// waits tells whether nothing is to be sent now, and gives the reason in the result.
func (c *change) waits(mode fleet.Mode) bool {
	held := slices.DeleteFunc(slices.Clone(c.out.Plan.Changes), func(p plan.Change) bool {
		return p.Class != plan.Held || p.Consented
	})
	switch {
	case len(c.out.Plan.Sendable()) == 0 && len(held) == 0:
		c.out.Reason = c.nothing
	case mode != fleet.ModeOn:
		c.out.Reason, c.out.Next = "nothing is written: the mode is "+string(mode), plan.HowToResume
	case len(held) > 0:
		c.out.Reason = fmt.Sprintf("%d changes wait for consent, the first is %s: %s",
			len(held), held[0].Key, held[0].Reason)
		c.out.Next = "Ask again with the plan's digest, and consent to the held keys; nothing was written."
	default:
		return false
	}
	return true
}

// concludeChange gives the result of a change that was sent and read back.
func (e *Engine) concludeChange(ctx context.Context, j *job, planned plan.Plan) error {
	c, left := j.change, j.plan.Sendable()
	c.out.Plan = planned
	switch {
	case j.outcome == fleet.OutcomeRejected:
		return &fleet.Error{Code: fleet.CodeRejected, During: c.what, Message: j.detail,
			Hint: "Look at the daemon's own GUI and log."}
	case len(left) > 0 && !e.mayWrite(ctx, j):
		return conflict("Muster was stopped meanwhile: part of the change was not written",
			"Compare the revisions, and ask again when Muster may write.")
	}
	c.out.Done, c.out.Reason = true, c.done
	if len(left) == 0 {
		return nil
	}
	c.out.Reason = fmt.Sprintf("the daemon took it and shows %s otherwise", left[0].Key)
	if c.amends {
		return &fleet.Error{Code: fleet.CodeUnavailable, During: c.what, Message: c.out.Reason,
			Hint: "Look at the daemon's own GUI and log."}
	}
	return nil
}

// takenBack says why the templates would take changes to the document of a job back; "" when they would let them be.
// The daemon is not asked. differs tells it for one change, by the value that the templates make.
func (e *Engine) takenBack(ctx context.Context, j *job, changes []stconfig.Change,
	differs func(stconfig.Change, stconfig.Value) bool) (string, error) {
	t, err := e.readersJob(ctx, j.m.id)
	if err != nil {
		return "", err
	}
	t.doc = stconfig.Patch(j.doc, changes)
	t.digest = stconfig.Digest(t.doc)
	if err := e.makePlan(ctx, t, false); err != nil {
		return "", err
	}
	for _, c := range changes {
		if differs(c, stconfig.Lookup(t.result.Desired, c.Key)) {
			return t.whoTakesBack(c.Key), nil
		}
	}
	return "", nil
}

func (j *job) whoTakesBack(key stconfig.Key) string {
	for _, c := range j.plan.Changes {
		if len(c.Templates) > 0 && (c.Key.HasPrefix(key) || key.HasPrefix(c.Key)) {
			return fmt.Sprintf("template %d has %s otherwise, and would take it back", c.Templates[len(c.Templates)-1], key)
		}
	}
	return fmt.Sprintf("the templates have %s otherwise, and would take it back", key)
}

func conflict(why, next string) error {
	return &fleet.Error{Code: fleet.CodeConflict, Message: why, Hint: next}
}
