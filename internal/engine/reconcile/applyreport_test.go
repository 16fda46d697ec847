package reconcile_test

import (
	"strings"
	"testing"

	"muster/internal/fleet"
)

// A removal that a person consents to may have to wait for another one that they did not: the answer says so.
func TestApplySaysWhatWasDoneAndWhatStillWaits(t *testing.T) {
	in(t, func(t *testing.T) {
		peer := tmpl(3, fleet.OpAppend, "devices", `[{"deviceID": "`+string(nora)+`", "name": "A friend"}]`)
		b := newBench(t, peer, photos)
		b.start()
		defer b.stop()
		b.wantState(fleet.ConfigInSync, "")
		b.changed()
		b.wantState(fleet.ConfigHeld, "")
		device := "devices." + string(nora)

		done, waiting, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, consent(device))
		if err != nil {
			t.Fatal(err)
		}
		if len(done) > 0 {
			t.Errorf("got %v as done: the folder is still shared with the device", keysOf(done))
		}
		reasons := map[string]string{}
		for _, c := range waiting {
			reasons[c.Key.String()] = c.Reason
		}
		if !strings.Contains(reasons[device], "still shared with it; it was consented to and follows by itself") ||
			reasons["folders.photos"] == "" {
			t.Errorf("got %v as waiting, want the device, because of the folder, and the folder", reasons)
		}

		done, waiting, err = b.engine.Apply(t.Context(), b.id, b.plan().Digest, consent("folders.photos"))
		if err != nil {
			t.Fatal(err)
		}
		if got := keysOf(done); got != device+":held folders.photos:held" || len(waiting) > 0 {
			t.Errorf("got %q done and %v waiting, want both removals done", got, keysOf(waiting))
		}
	})
}

// What the daemon refused is not told as done.
func TestApplyDoesNotCallDoneWhatTheDaemonRefused(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, tmpl(2, fleet.OpSet, "folders.photos-x4kd.path", `"/srv/other"`))
		b.start()
		defer b.stop()
		b.wantState(fleet.ConfigHeld, "")
		b.daemon.mu.Lock()
		b.daemon.before = func(*daemon, string) error { return rejected("no such path") }
		b.daemon.mu.Unlock()
		done, waiting, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, consent("folders.photos-x4kd.path"))
		if err != nil {
			t.Fatal(err)
		}
		if len(done) > 0 || len(waiting) != 1 || !strings.Contains(waiting[0].Reason, "no such path") {
			t.Errorf("got %v done and %+v waiting", keysOf(done), waiting)
		}
	})
}

// Nobody said yes to a change that was asked for another day.
func TestAConsentEndsWithItsChange(t *testing.T) {
	in(t, func(t *testing.T) {
		peer := tmpl(3, fleet.OpAppend, "devices", `[{"deviceID": "`+string(nora)+`", "name": "A friend"}]`)
		b := newBench(t, peer, photos)
		b.start()
		defer b.stop()
		device := "devices." + string(nora)
		b.changed()
		if _, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, consent(device)); err != nil {
			t.Fatal(err)
		}
		b.changed(peer, photos)
		b.wantState(fleet.ConfigInSync, "")
		b.changed()
		if _, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, consent("folders.photos")); err != nil {
			t.Fatal(err)
		}
		b.want("folders.photos", "absent")
		b.want(device+".name", `"A friend"`)
		b.wantState(fleet.ConfigHeld, "")
	})
}

// A template about what only some devices have is no slip: nobody has to come for that.
func TestWhatIsSkippedIsSaidAndCallsNobody(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, tmpl(2, fleet.OpSet, "folders.elsewhere.label", `"x"`))
		b.start()
		defer b.stop()
		b.wantState(fleet.ConfigInSync,
			"except that folders.elsewhere.label is skipped: this device has no folder elsewhere")
		if next := b.state().Next; next != "" {
			t.Errorf("somebody is to look at it: %s", next)
		}
	})
}

// A key with a slip in it changes nothing, and a device that looks good would hide it.
func TestAMisspelledFieldIsSaidAndCallsSomebody(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, tmpl(2, fleet.OpSet, "options.natEnbled", `false`))
		b.start()
		defer b.stop()
		b.wantState(fleet.ConfigInSync,
			"template 2: options.natEnbled is a field of no daemon that Muster knows: did you mean natEnabled?")
		if next := b.state().Next; next != "Mend template 2, if that is a mistake." {
			t.Errorf("got %q: somebody has to look at it", next)
		}
		if reason := b.state().Reason; strings.Contains(reason, "skipped") {
			t.Errorf("said twice: %s", reason)
		}
	})
}

func TestWhichTemplateHasTheLastWordIsSaid(t *testing.T) {
	in(t, func(t *testing.T) {
		first, second := tmpl(1, fleet.OpSet, "options.maxSendKbps", `5`),
			tmpl(3, fleet.OpMerge, "options", `{"maxSendKbps": 7}`)
		first.Priority, second.Priority = 10, 20
		b := newBench(t, first, second)
		b.start()
		defer b.stop()
		b.wantState(fleet.ConfigInSync,
			"options.maxSendKbps: template 3 (priority 20) has the last word over template 1 (priority 10)")
		if next := b.state().Next; next != "" {
			t.Errorf("that is no alarm: %s", next)
		}
	})
}
