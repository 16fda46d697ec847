package plan_test

import (
	"testing"

	"muster/internal/desired"
	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/stconfig"
)

// A daemon lost a write: the mark of a device that is not trusted was there again, and its removal waited for a person.
// The share with the device was sent all the same, and the daemon took it away, again and again.
func TestAShareWaitsUntilItsDeviceIsTrusted(t *testing.T) {
	const mark = "devices." + storage + ".untrusted"
	s := newStory(t)
	s.observed = s.observed.With("version", stconfig.Literal("52"))
	templates := []fleet.Template{{ID: 1, Op: fleet.OpSet, Key: mark, Text: "true"}}
	s.write(templates)
	marked := s.observed
	s.has("folders.docs-7hq2.devices."+storage, "absent")
	r, p, err := s.plan(nil)
	if err != nil {
		t.Fatal(err)
	}
	var sent []desired.Sent
	for _, c := range p.Sendable() {
		sent = append(sent, desired.Sent{Key: c.Key, To: c.Sending()})
	}
	s.observed = stconfig.Replace(marked, keyOf(t, mark), stconfig.Boolean(false))
	if s.entries, err = desired.Finish(r.Begin(sent), s.observed, s.own, nil); err != nil {
		t.Fatal(err)
	}
	s.observed = marked
	s.consent = nil
	if _, p, err = s.plan(nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range p.Changes {
		if c.Class != plan.Held {
			t.Errorf("%s is %s", c.Key, c.Class)
		}
	}
	if len(p.Changes) < 2 {
		t.Errorf("nothing is to come back: %v", p.Changes)
	}
}
