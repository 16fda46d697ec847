package plan_test

import (
	"testing"

	"muster/internal/desired"
	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/stconfig"
)

const (
	mark        = "devices." + storage + ".untrusted"
	markedShare = "folders.docs-7hq2.devices." + storage
)

// returning is a device that a template marked as untrusted, with its share gone, whose mark was taken away, and is
// there again: the daemon lost that write.
func returning(t *testing.T) story {
	s := newStory(t)
	s.observed = s.observed.With("version", stconfig.Literal("52"))
	s.before = s.observed
	s.write([]fleet.Template{{ID: 1, Op: fleet.OpSet, Key: mark, Text: "true"}})
	marked := s.observed
	s.has(markedShare, "absent")
	r, p, err := s.plan(nil)
	if err != nil {
		t.Fatal(err)
	}
	var sent []desired.Sent
	for _, c := range p.Sendable() {
		sent = append(sent, desired.Sent{Key: c.Key, To: c.Sending()})
	}
	s.observed = stconfig.Replace(marked, keyOf(t, mark), stconfig.Boolean(false))
	if s.entries, err = desired.Finish(r.Begin(sent), desired.Reading{Document: s.observed, Own: s.own}); err != nil {
		t.Fatal(err)
	}
	s.observed = marked
	return s
}

// A daemon lost a write: the mark of a device that is not trusted was there again, and its removal waited for a person.
// The share with the device was sent all the same, and the daemon took it away, again and again.
func TestAShareWaitsUntilItsDeviceIsTrusted(t *testing.T) {
	s := returning(t)
	s.consent = nil
	_, p, err := s.plan(nil)
	if err != nil {
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

// A person kept the mark of a device that is not trusted. The share with the device, which a template had taken away,
// was sent all the same, and the daemon took it away, again and again.
func TestAShareStaysAwayWhileAPersonKeepsItsDeviceUntrusted(t *testing.T) {
	s := returning(t)
	s.keep(mark)
	if p := s.write(nil); len(p.Changes) > 0 {
		t.Errorf("%s is %s", p.Changes[0].Key, p.Changes[0].Class)
	}
	s.has(mark, "true")
	s.has(markedShare, "absent")
	s.edit(fleet.OpSet, mark, "false")
	s.write(nil)
	s.asBefore()
}

// A folder that a template had taken away came back with its share with a device that a person had marked meanwhile.
func TestAFolderComesBackWithoutSharesThatTheDaemonWouldTakeAway(t *testing.T) {
	s := newStory(t)
	s.observed = s.observed.With("version", stconfig.Literal("52"))
	s.write([]fleet.Template{{ID: 1, Op: fleet.OpRemove, Key: "folders", Text: `["docs-7hq2"]`}})
	s.edit(fleet.OpSet, mark, "true")
	s.write(nil)
	s.has("folders.docs-7hq2.id", `"docs-7hq2"`)
	s.has(markedShare, "absent")
	s.edit(fleet.OpSet, mark, "false")
	s.write(nil)
	if !stconfig.Lookup(s.observed, keyOf(t, markedShare)).Exists() {
		t.Error("the share is lost")
	}
}
