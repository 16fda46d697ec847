package reconcile_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/engine/reconcile"
	"muster/internal/fleet"
)

// consents gives the consent to the removal of the folder, and waits for what follows.
func (b *bench) consents() {
	b.t.Helper()
	b.answers(fleet.GroupAnswer{Answer: fleet.AnswerConsent})
	synctest.Wait()
}

// A consent was used a second time: a person put the folder back between a crash after the write and the next start.
func TestAConsentIsNotUsedAgainAfterACrash(t *testing.T) {
	in(t, func(t *testing.T) {
		b := askedAboutFolder(t)
		defer func() { b.stop() }()
		folder := b.daemon.at("folders.made")
		var onDisk []int64
		b.step = func(name string) {
			if name == reconcile.StepAfterWrite+"1" { // killed here
				b.store.mu.Lock()
				defer b.store.mu.Unlock()
				onDisk = slices.Clone(b.store.closed)
				b.store.fail = func(string) error { return errors.New("killed") }
			}
		}
		b.consents()
		b.stop()
		b.want("folders.made", "absent")
		b.daemon.edit("folders.made", folder)
		b.step, b.store.fail, b.store.closed = nil, nil, onDisk
		b.start()
		b.wantAskedAgain(folder)
	})
}

// The same, where the daemon could not be read back for a while.
func TestAConsentIsNotUsedAgainAfterAFailedReadBack(t *testing.T) {
	in(t, func(t *testing.T) {
		b := askedAboutFolder(t)
		defer func() { b.stop() }()
		folder := b.daemon.at("folders.made")
		b.step = func(name string) {
			if name == reconcile.StepBeforeVerify {
				b.reachable(false)
			}
		}
		b.consents()
		b.later(time.Minute)
		b.step = nil
		b.want("folders.made", "absent")
		b.daemon.edit("folders.made", folder)
		b.reachable(true)
		b.engine.Online(b.id)
		b.later(2 * time.Minute)
		b.wantAskedAgain(folder)
	})
}

// A write whose answer is lost may have been done, and undone by a person: its consent is used all the same.
func TestAConsentIsNotUsedAgainAfterALostAnswer(t *testing.T) {
	in(t, func(t *testing.T) {
		b := askedAboutFolder(t)
		defer func() { b.stop() }()
		folder := b.daemon.at("folders.made")
		b.daemon.answersWrites(func(d *daemon, _ string) error {
			d.before = nil
			return unreachable()
		})
		b.consents()
		b.later(2 * time.Minute)
		b.wantAskedAgain(folder)
	})
}

// A write that was answered with 5xx counts as not done: its consent is for the next try, also of another process.
func TestAConsentIsForTheWriteThatIsDone(t *testing.T) {
	in(t, func(t *testing.T) {
		b := askedAboutFolder(t)
		defer func() { b.stop() }()
		b.daemon.answersWrites(func(*daemon, string) error { return notSaved(1) })
		b.consents()
		b.stop()
		b.daemon.before = nil
		b.start()
		b.later(2 * time.Minute)
		b.want("folders.made", "absent")
		b.wantState(fleet.ConfigUnmanaged, "")
	})
}

// wantAskedAgain wants the folder to be there as the person put it back, and one question about it.
func (b *bench) wantAskedAgain(folder string) {
	b.t.Helper()
	b.want("folders.made", folder)
	b.wantState(fleet.ConfigHeld, "remove it, or keep it as it is")
}

func (b *bench) reachable(is bool) {
	b.daemon.mu.Lock()
	defer b.daemon.mu.Unlock()
	b.daemon.online = is
}

// A consented removal that waited was asked about again after the daemon was upgraded in place.
func TestAConsentOutlivesAnUpgradeOfTheDaemon(t *testing.T) {
	in(t, func(t *testing.T) {
		const device = "devices." + string(nora)
		b := newBench(t, tmpl(1, fleet.OpMerge, "devices", `[{"deviceID": "`+string(nora)+`"}]`),
			tmpl(2, fleet.OpMerge, "folders",
				`[{"id": "made", "path": "/home/one/made", "devices": [{"deviceID": "`+string(nora)+`"}]}]`))
		b.start()
		defer b.stop()
		b.changed()
		if _, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, consent(device)); err != nil {
			t.Fatal(err)
		}
		b.wantState(fleet.ConfigHeld, "")
		b.daemon.upgrade()
		b.seen()
		if _, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, consent("folders.made")); err != nil {
			t.Fatal(err)
		}
		b.want("folders.made", "absent")
		b.want(device, "absent")
		b.wantState(fleet.ConfigUnmanaged, "")
	})
}

// An edit after the answer makes the removal another change.
func TestAConsentEndsWithAnEditOfWhatIsToGo(t *testing.T) {
	in(t, func(t *testing.T) {
		const device = "devices." + string(nora)
		b := newBench(t, tmpl(1, fleet.OpMerge, "devices", `[{"deviceID": "`+string(nora)+`"}]`),
			tmpl(2, fleet.OpMerge, "folders",
				`[{"id": "made", "path": "/home/one/made", "devices": [{"deviceID": "`+string(nora)+`"}]}]`))
		b.start()
		defer b.stop()
		b.changed()
		if _, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, consent(device)); err != nil {
			t.Fatal(err)
		}
		b.daemon.edit(device+".maxSendKbps", "77")
		b.seen()
		if _, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, consent("folders.made")); err != nil {
			t.Fatal(err)
		}
		b.want("folders.made", "absent")
		b.want(device+".maxSendKbps", "77")
		b.wantState(fleet.ConfigHeld, "")
	})
}

// upgrade makes the document one of a later version: a field comes to each folder and device, and one goes.
func (d *daemon) upgrade() {
	d.mu.Lock()
	defer d.mu.Unlock()
	doc := d.doc.With("version", stconfig.Literal("99"))
	for list, lost := range map[string]string{"folders": "copiers", "devices": "compression"} {
		var members []stconfig.Value
		for member := range doc.Get(list).Values() {
			members = append(members, member.Without(lost).With("novelty", stconfig.Text("")))
		}
		doc = doc.With(list, stconfig.List(members...))
	}
	d.doc = stconfig.Normalise(doc)
}
