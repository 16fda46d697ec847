package plan_test

import (
	"testing"

	"muster/internal/core/desired"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
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

var marks = []fleet.Template{{ID: 1, Op: fleet.OpSet, Key: mark, Text: "true"}}

// unmarked is a device that a template marked as untrusted, after a person put the old document back.
func unmarked(t *testing.T) story {
	s := newStory(t)
	s.observed = s.observed.With("version", stconfig.Literal("52"))
	s.before = s.observed
	s.write(marks)
	s.observed = s.before
	return s
}

// The removal of a share was stopped. The mark of its device went out all the same, and the daemon took the share away
// with it.
func TestAMarkWaitsWhereTheRemovalOfTheShareIsStopped(t *testing.T) {
	s := unmarked(t)
	s.stopped = func(key stconfig.Key) (stop fleet.Stop) {
		if key.String() == markedShare {
			stop.Reason = "set back three times"
		}
		return stop
	}
	s.consent = nil
	_, p, err := s.plan(marks)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		mark:        "left out together with " + markedShare + ": the daemon would do that, too",
		markedShare: "set back three times",
	} {
		if c, _ := p.At(key); c.Class != plan.Held || c.Reason != want {
			t.Errorf("%s is %s because %q, want it held because %q", key, c.Class, c.Reason, want)
		}
	}
}

// A daemon took a share away because Muster marked its device. Muster had not sent the removal itself, took it for a
// person's, and never put the share back.
func TestWhatTheDaemonDoesBesideAWriteIsMusters(t *testing.T) {
	s := unmarked(t)
	r, _, err := s.plan(marks)
	if err != nil {
		t.Fatal(err)
	}
	begun := r.Begin([]desired.Sent{{Key: keyOf(t, mark), To: stconfig.Boolean(true)}})
	s.observed = stconfig.Replace(s.observed, keyOf(t, mark), stconfig.Boolean(true))
	s.observed = stconfig.Replace(s.observed, keyOf(t, markedShare), stconfig.Value{})
	read := desired.Reading{Document: s.observed, Own: s.own, Acknowledged: []stconfig.Key{keyOf(t, mark)}, Saved: true}
	if s.entries, err = desired.Finish(begun, read); err != nil {
		t.Fatal(err)
	}
	s.write(nil)
	s.asBefore()
}
