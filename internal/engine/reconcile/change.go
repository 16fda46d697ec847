package reconcile

import (
	"context"
	"fmt"
	"slices"

	"muster/internal/core/desired"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// A person may change the configuration of one device without a template: by a restore or an amendment. Such a change
// goes through the same queue and the same stages as the plans of templates: read, plan, guard, intent, fresh read,
// narrow writes, read back, outcome.

const changeTries = 3 // attempts to send one change if a person edits at the daemon meanwhile

// change is a restore or an amendment (a change that a person makes with Amend) on its way to the daemon.
type change struct {
	what    string // name of the change for people, in intents and answers
	cause   string // the cause of the revision that the change makes
	done    string // the result for the person when the change was sent
	nothing string // the result for the person when there is nothing to send
	preview bool   // The change is planned, and nothing is sent.
	amends  bool   // This is an amendment: the whole change is made, or nothing is sent.

	section stconfig.Key
	// target returns the document that the change makes of doc.
	target  func(ctx context.Context, doc stconfig.Value) (stconfig.Value, error)
	role    fleet.Role // role of the person who makes the change
	digest  string     // digest of the plan that the person saw; "" when they consent to nothing
	consent []string

	out plan.Restored
}

// Restore brings a device's configuration, or a section of it, back to the revision with this number. It leaves out
// what templates write, the daemon's password, and how the daemon's API is reached.
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
		section: section, role: fleet.RoleOf(ctx), digest: what.Digest, consent: what.Consent, preview: what.Preview,
		target: e.restorable(id, number),
	}
	answered, err := e.await(ctx, id, &request{change: c})
	if !answered {
		return plan.Restored{}, err
	}
	return c.out, err
}

// mayRestore checks that the store has the revision and that it can be restored. It needs no daemon, so a person
// learns of such an error even while the daemon is offline.
func (e *Engine) mayRestore(ctx context.Context, id fleet.DeviceID, number int64) error {
	return e.o.Memory.Do(ctx, func(ctx context.Context) error {
		left := int64(maxCompared)
		_, err := e.revision(ctx, id, number, &left)
		return err
	})
}

// restorable returns the function for change.target of a restore. The function returns doc with the revision restored
// into it. It reads the revision only once, because the store may delete the revision before the daemon is read back.
func (e *Engine) restorable(
	id fleet.DeviceID,
	number int64,
) func(context.Context, stconfig.Value) (stconfig.Value, error) {
	var revision stconfig.Value
	return func(ctx context.Context, doc stconfig.Value) (stconfig.Value, error) {
		if !revision.Exists() {
			var err error
			left := int64(maxCompared)
			if revision, err = e.revision(ctx, id, number, &left); err != nil {
				return stconfig.Value{}, err
			}
		}
		return stconfig.Restorable(revision, doc), nil
	}
}

// Amend makes a person's change to a device's configuration. `to` computes the new document from the present one; what
// names the change for people. If the daemon has the change already, Amend does nothing. It returns conflict if the
// change would have to wait for consent, if Muster does not write to the device, or if templates would undo the
// change.
func (e *Engine) Amend(ctx context.Context, id fleet.DeviceID, what string,
	to func(stconfig.Value) (stconfig.Value, error)) error {
	_, err := e.await(ctx, id, &request{change: &change{
		what: what, cause: fleet.CauseAccept, done: what, amends: true, role: fleet.RoleOf(ctx),
		target: func(_ context.Context, doc stconfig.Value) (stconfig.Value, error) { return to(doc) },
	}})
	return err
}

// carryOut plans a person's change, decides whether it may be sent, and sends it. If the daemon's document changed
// before the first write, carryOut starts again with the new document: it must not overwrite what a person wrote there
// meanwhile.
func (p *pass) carryOut(ctx context.Context, in input) error {
	c := in.change
	defer p.close()
	defer c.shorten()
	for range changeTries {
		now, err := p.planAnew(ctx, in)
		c.out.Plan, c.out.Left = now.plan, now.left
		if err != nil {
			return err
		}
		if send, err := p.maySend(ctx, now); err != nil || !send {
			return err
		}
		next, err := p.send(ctx, now)
		c.out.Plan, c.out.Left = next.plan, next.left
		if err != nil {
			return err
		}
		if len(p.sent) > 0 {
			return p.concludeChange(ctx, c, now.plan, next)
		}
		in = next.input
	}
	return &fleet.Error{Code: fleet.CodeUnavailable, During: c.what,
		Message: "the daemon's configuration keeps changing: nothing was written",
		Hint:    "Ask again when no person edits it."}
}

// shorten makes the result of a change small enough to wait in memory until a person reads it: the result shares no
// memory with the documents, and its values fit the bound of a report (plan.MaxReported).
func (c *change) shorten() {
	room := plan.MaxReported
	c.out.Plan.Changes, c.out.Left = plan.ForReport(c.out.Plan.Changes, &room), plan.ForReport(c.out.Left, &room)
}

// withoutConsent returns a copy of the change without the person's consent. It is for planning what is still left to
// write after the change was sent, because the consent covered only that one attempt.
func (c *change) withoutConsent() *change {
	sent := *c
	sent.digest, sent.consent = "", nil
	return &sent
}

// planAnew reads the daemon and plans a person's change from what it has now.
func (p *pass) planAnew(ctx context.Context, in input) (planned, error) {
	if err := p.open(ctx); err != nil {
		return planned{input: in}, err
	}
	in, err := p.read(ctx, in)
	if err != nil {
		return planned{input: in}, err
	}
	return p.planChange(ctx, in)
}

// planChange plans a person's change, in.change, from the document of the input.
func (e *Engine) planChange(ctx context.Context, in input) (planned, error) {
	c, now := in.change, planned{input: in, reserved: e.going.count()}
	target, err := c.target(ctx, in.doc)
	if err != nil {
		return now, err
	}
	away := awayOf(in.current, in.id)
	target, revoked := desired.WithoutAway(target, away)
	now.wanted, now.left = plan.SplitForRestore(c.section, in.doc, target, in.base)
	now.wanted = slices.DeleteFunc(now.wanted, func(d stconfig.Change) bool { return desired.IsAway(d.Key, away) })
	for _, key := range revoked {
		if stconfig.Lookup(in.doc, key).Exists() {
			continue // The device is there now; Muster removes it, and the change is not about it.
		}
		now.left = append(now.left, plan.Change{Key: key, Class: plan.Skipped,
			Reason: "the device is revoked: `muster revocation list` shows since when"})
	}
	if now.plan, err = plan.Make(e.changeInput(ctx, in, now.wanted)); err != nil {
		return now, err
	}
	for _, planned := range now.plan.Changes {
		if planned.Class == plan.Refused {
			now.left = append(now.left, planned)
		}
	}
	return now, now.plan.CheckConsent(c.digest, c.consent)
}

// changeInput returns the input for the plan of a person's change. wanted lists the differences that the change makes.
// They count as asked for by admins only if the person is an admin.
func (e *Engine) changeInput(ctx context.Context, in input, wanted []stconfig.Change) plan.Input {
	c := in.change
	desired := stconfig.Patch(in.doc, wanted)
	asked := in.doc
	if c.role == fleet.RoleAdmin {
		asked = desired
	}
	return plan.Input{
		Device: in.id, Generation: in.current.Generation, Observed: in.doc, Digest: in.digest, Desired: desired,
		ByAdmins: func() (stconfig.Value, error) { return asked, nil }, Facts: e.guardFacts(ctx, in),
		Consent: func(planned plan.Change) bool { return slices.Contains(c.consent, planned.Key.String()) },
	}
}

// baseOfPerson returns the device's ownership records for the intent of a person's change. Each key that the plan
// sends belongs to the person, even if Muster wrote the same value earlier. The records are stored with the intent, so
// if the change is interrupted, the part that arrived belongs to the person, too. The result is never nil, because nil
// would leave the stored records as they are.
func (p planned) baseOfPerson() ([]fleet.BaseEntry, error) {
	var keys []stconfig.Key
	for _, c := range p.plan.Sendable() {
		keys = append(keys, c.Key)
	}
	return desired.Keep(p.base, keys, p.doc)
}

// maySend reports whether the plan of a person's change is sent now. If a restore has to wait, its result says why and
// maySend returns false. If an amendment has to wait, maySend returns conflict.
func (p *pass) maySend(ctx context.Context, now planned) (bool, error) {
	c := now.change
	if c.amends {
		if len(c.out.Left) > 0 {
			left := c.out.Left[0]
			return false, conflict(fmt.Sprintf("%s cannot be changed: %s", left.Key, left.Reason),
				"Change the templates, or do it at the daemon.")
		}
		if len(now.plan.Changes) == 0 {
			return false, nil
		}
		c.nothing = "the daemon cannot take it: " + now.plan.Changes[0].Reason
	}
	waits := c.waits(now.input)
	switch {
	case waits && c.amends:
		return false, conflict(c.out.Reason, c.out.Next)
	case waits:
		return false, nil
	case c.preview:
		c.out.Reason = "this is what the restore would change; nothing was sent"
		return false, nil
	}
	if !c.amends {
		return true, nil
	}
	why, err := p.takenBack(ctx, now.input, now.wanted, func(c stconfig.Change, is stconfig.Value) bool {
		return c.From.Exists() && !is.Equal(c.To) || !is.Exists()
	})
	if err != nil || why == "" {
		return err == nil, err
	}
	return false, conflict(why, "Put it into the template, or take the template's tag off the device.")
}

// waits reports whether the change is not sent now: nothing can be sent, the device's mode forbids it, or a change
// needs a consent. waits sets the reason and the next step in the result.
func (c *change) waits(in input) bool {
	held := slices.DeleteFunc(slices.Clone(c.out.Plan.Changes), func(p plan.Change) bool {
		return p.Class != plan.Held || p.Consented
	})
	switch {
	case len(c.out.Plan.Sendable()) == 0 && len(held) == 0:
		c.out.Reason = c.nothing
	case in.mode != fleet.ModeOn:
		c.out.Reason, c.out.Next = in.notWritten()
		c.out.Reason = "nothing is written: " + c.out.Reason
	case len(held) > 0:
		c.out.Reason = fmt.Sprintf("%d changes wait for consent, the first is %s: %s",
			len(held), held[0].Key, held[0].Reason)
		c.out.Next = "Ask again with the plan's digest, and consent to the held keys; nothing was written."
	default:
		return false
	}
	return true
}

// concludeChange fills in the result of a change that was sent. sent is the plan that was sent. next is the plan of
// the same change, made from the document that was read back: what next would still send did not arrive.
func (p *pass) concludeChange(ctx context.Context, c *change, sent plan.Plan, next planned) error {
	left := next.plan.Sendable()
	c.out.Plan = sent
	switch {
	case p.outcome == fleet.OutcomeRejected:
		return &fleet.Error{Code: fleet.CodeRejected, During: c.what, Message: p.detail,
			Hint: "Look at the daemon's own GUI and log."}
	case len(left) > 0 && p.revokedMeanwhile(ctx, next.input):
		return conflict("a device was revoked meanwhile: part of the change was not written",
			"Ask again: what is left then is planned without that device.")
	case len(left) > 0 && !p.mayWrite(ctx, next.input):
		return conflict("Muster was stopped meanwhile: part of the change was not written",
			"Compare the revisions, and ask again when Muster may write.")
	}
	c.out.Done, c.out.Reason = true, c.done
	if len(left) == 0 {
		return nil
	}
	c.out.Reason = fmt.Sprintf("the daemon accepted the request and shows %s otherwise", left[0].Key)
	if c.amends {
		return &fleet.Error{Code: fleet.CodeUnavailable, During: c.what, Message: c.out.Reason,
			Hint: "Look at the daemon's own GUI and log."}
	}
	return nil
}

// takenBack returns why the device's templates would undo these changes to the document of in; "" if they would not.
// It does not ask the daemon. differs decides for one change, and for the value that the templates make of its key,
// whether that value undoes the change.
func (e *Engine) takenBack(ctx context.Context, in input, changes []stconfig.Change,
	differs func(stconfig.Change, stconfig.Value) bool) (string, error) {
	asked, conn, err := e.inputOfReader(ctx, in.id)
	if err != nil {
		return "", err
	}
	asked.doc = stconfig.Patch(in.doc, changes)
	asked.digest = stconfig.Digest(asked.doc)
	now, err := conn.plan(ctx, asked, false)
	if err != nil {
		return "", err
	}
	for _, c := range changes {
		if differs(c, stconfig.Lookup(now.result.Desired, c.Key)) {
			return now.whoTakesBack(c.Key), nil
		}
	}
	return "", nil
}

// whoTakesBack returns a sentence that names the last template that sets key to another value. If the plan shows no
// such template, it says "the templates".
func (p planned) whoTakesBack(key stconfig.Key) string {
	for _, c := range p.plan.Changes {
		if len(c.Templates) > 0 && (c.Key.HasPrefix(key) || key.HasPrefix(c.Key)) {
			return fmt.Sprintf("template %d has %s otherwise, and would take it back", c.Templates[len(c.Templates)-1], key)
		}
	}
	return fmt.Sprintf("the templates have %s otherwise, and would take it back", key)
}
