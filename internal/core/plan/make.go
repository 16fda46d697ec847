package plan

import (
	"slices"
	"strings"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Make compares the observed with the desired document and classifies each change. The observed document must be
// usable (stconfig.Usable). Errors are an unknown secret, and those of Input.ByAdmins.
func Make(in Input) (Plan, error) {
	wanted, err := in.resolve(in.Desired)
	if err != nil {
		return Plan{}, err
	}
	after := inClear(wanted)
	p := Plan{Device: in.Device, Generation: in.Generation, Observed: in.Digest}
	if p.Observed == "" {
		p.Observed = stconfig.Digest(in.Observed.Without("ignores"))
	}
	g := newGuard(in)
	for _, d := range in.differences(wanted) {
		c := Change{Key: d.Key, From: d.From, To: stconfig.Lookup(in.Desired, d.Key), send: inClear(d.To)}
		if in.samePassword(c) {
			continue
		}
		in.explain(&c)
		g.classify(&c, after)
		g.refuseLiterals(&c)
		p.Changes = append(p.Changes, c)
	}
	in.guardCopies(p.Changes, in.withoutRevoked(), after)
	for i := range p.Changes {
		in.hold(&p.Changes[i])
	}
	if *g.failed != nil {
		return Plan{}, *g.failed
	}
	p.freeConsequences(in.Observed)
	p.startLater(in.Skipped)
	slices.SortStableFunc(p.Changes, compareChanges)
	p.leaveOutDependents(in)
	for _, s := range in.Skipped {
		s.Class = Skipped
		p.Changes = append(p.Changes, s)
	}
	p.Digest = p.digest(in.Observed)
	return p, nil
}

// differences returns the changes from the observed document to wanted. The changes that take revoked devices away
// come first.
func (in Input) differences(wanted stconfig.Value) []stconfig.Change {
	if !in.Cleared.Exists() {
		return stconfig.Diff(in.Observed, wanted)
	}
	return append(stconfig.Diff(in.Observed, in.Cleared), stconfig.Diff(in.Cleared, wanted)...)
}

// withoutRevoked returns the observed document without the revoked devices.
func (in Input) withoutRevoked() stconfig.Value {
	if in.Cleared.Exists() {
		return in.Cleared
	}
	return in.Observed
}

// cut shortens a reason, which may contain any text of a template.
func cut(reason string) string {
	const most = 1 << 10
	if len(reason) <= most {
		return reason
	}
	return strings.ToValidUTF8(reason[:most], "") + "…"
}

// explain sets in a change what the fold (package desired) knows about the reason for it.
func (in Input) explain(c *Change) {
	if in.Why == nil {
		return
	}
	why := in.Why(c.Key)
	c.Templates, c.Drift, c.implied = why.Templates, why.Drift, why.Implied
	c.recreates, c.earlier, c.introducer, c.with = why.Recreates, why.Earlier, why.Introducer, why.With
	c.revoked, c.away = why.Revoked, why.Away
	c.Returns = (why.Returns || why.Recreates) && why.Away == ""
}

// hold applies the decisions that come neither from the guard table nor from guardCopies: the change's key is
// stopped, or a person consented or chose a value. A change that removes a revoked device is held only by a stop
// with which the daemon itself refuses it (StopRejected). It is not held because a person put the device back three
// times.
func (in Input) hold(c *Change) {
	if in.Stopped != nil && c.Class != Refused {
		stop := in.Stopped(c.Key)
		if stop.Reason != "" && (c.away == "" || stop.Kind == fleet.StopRejected) {
			c.Class, c.Reason, c.Stopped = Held, stop.Reason, true
		}
	}
	if c.Class == Held && !c.OnlyKeep && in.Consent != nil {
		c.Consented = in.Consent(*c)
	}
	if c.Class == Held && !c.Consented && in.Chosen != nil {
		if chosen, offered := c.Choosing(in.Chosen(*c)); offered {
			*c = chosen
			c.Consented = true
		}
	}
	c.Reason = cut(c.Reason)
	if c.Class != Held || c.Stopped {
		c.note = ""
	}
	c.Reason += c.note
}

// section is the first name of a key, in lower case.
func section(key stconfig.Key) string {
	if key.IsRoot() {
		return ""
	}
	return strings.ToLower(key.At(0).Name)
}

// isKey reports whether a key consists of exactly these names, in any letter case.
func isKey(key stconfig.Key, names ...string) bool {
	if key.Len() != len(names) {
		return false
	}
	for i, name := range names {
		if !strings.EqualFold(key.At(i).Name, name) {
			return false
		}
	}
	return true
}
