package plan

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"muster/internal/stconfig"
)

// Make compares and classifies. The observed document must be usable; an error is a secret that is not there.
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
	for _, d := range stconfig.Diff(in.Observed, wanted) {
		c := Change{Key: d.Key, From: d.From, To: stconfig.Lookup(in.Desired, d.Key), send: inClear(d.To)}
		if in.samePassword(c) {
			continue
		}
		in.explain(&c)
		g.classify(&c, after)
		g.refuseLiterals(&c)
		in.hold(&c)
		c.Reason = cut(c.Reason)
		p.Changes = append(p.Changes, c)
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

// cut bounds a reason, into which a template could put anything.
func cut(reason string) string {
	const most = 1 << 10
	if len(reason) <= most {
		return reason
	}
	return strings.ToValidUTF8(reason[:most], "") + "…"
}

// samePassword tells a gui.password of which the daemon has the hash.
func (in Input) samePassword(c Change) bool {
	return isKey(c.Key, "gui", "password") && !stconfig.HasConcealedLiteral(c.To) && in.SamePhrase != nil &&
		c.From.Exists() && c.send.Exists() &&
		in.SamePhrase(c.send.Str(), c.From.Str())
}

func (in Input) explain(c *Change) {
	if in.Why == nil {
		return
	}
	why := in.Why(c.Key)
	c.Templates, c.Drift, c.implied = why.Templates, why.Drift, why.Implied
	c.recreates, c.earlier, c.introducer, c.with = why.Recreates, why.Earlier, why.Introducer, why.With
	c.Returns = why.Returns || why.Recreates
}

// hold applies what comes from outside the table: what a person stopped or allowed.
func (in Input) hold(c *Change) {
	if in.Stopped != nil && c.Class != Refused {
		if reason := in.Stopped(c.Key); reason != "" {
			c.Class, c.Reason, c.Stopped = Held, reason, true
		}
	}
	if c.Class == Held && !c.OnlyKeep && in.Consent != nil {
		c.Consented = in.Consent(*c)
	}
}

// The order in which changes are sent: nothing is named before it exists or after it is gone, and `gui` comes last
// because the daemon restarts its API on it.
const (
	rankDevices = iota
	rankOptions
	rankLDAP
	rankDefaults
	rankFolders
	rankIgnores
	rankResumed
	rankOther
	rankFoldersGone
	rankIgnoredFolders // a daemon ignores only folders that are not shared any more
	rankDevicesGone
	rankIgnored // a daemon ignores only devices that it does not know any more
	rankGUI
)

func rank(c Change) int {
	if c.resumes {
		return rankResumed
	}
	gone := c.Key.Len() == 2 && !c.To.Exists()
	switch section(c.Key) {
	case "devices":
		switch {
		case gone:
			return rankDevicesGone
		case ignoresFolder(c):
			return rankIgnoredFolders
		}
		return rankDevices
	case "options":
		return rankOptions
	case "ldap":
		return rankLDAP
	case "defaults":
		return rankDefaults
	case "folders":
		if gone {
			return rankFoldersGone
		}
		return rankFolders
	case "ignores":
		return rankIgnores
	case "remoteignoreddevices":
		switch {
		case !gone:
			return rankIgnored
		case c.with != "": // a daemon forgets that it ignores a device as soon as it has it: one write for both
			return rankDevices
		}
	case "gui":
		return rankGUI
	}
	return rankOther
}

// ignoresFolder tells a change that has a daemon ignore a folder of a device.
func ignoresFolder(c Change) bool {
	return c.To.Exists() && c.Key.Len() == 4 && isKey(c.Key, "devices", c.Key.At(1).Name, "ignoredFolders",
		c.Key.At(3).Name)
}

func compareChanges(a, b Change) int {
	return cmp.Or(cmp.Compare(rank(a), rank(b)), a.Key.Compare(b.Key))
}

// section is the first name of a key, in lower case.
func section(key stconfig.Key) string {
	if key.IsRoot() {
		return ""
	}
	return strings.ToLower(key.At(0).Name)
}

// isKey compares a key name by name, without regard to case.
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

// digest names the plan. It is keyed with the daemon's API key, so that no secret can be guessed from it.
func (p Plan) digest(observed stconfig.Value) string {
	h := hmac.New(sha256.New, []byte(observed.Get("gui").Get("apiKey").Str()))
	fmt.Fprintf(h, "%s %s\n", p.Device, p.Observed)
	for _, c := range p.Changes {
		fmt.Fprintf(h, "%s %q %q\n", c.Class, c.Key.String(), c.Reason)
		if c.send.Exists() { // what was there is in the digest of the document
			c.send.WriteJSON(h)
		}
		h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil))
}
