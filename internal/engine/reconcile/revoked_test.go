package reconcile_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/engine/reconcile"
	"muster/internal/fleet"
)

// addsNora has somebody at the daemon add the device nora by a name.
func (b *bench) addsNora(name string) {
	b.daemon.edit("devices."+string(nora), `{"deviceID": "`+string(nora)+`", "name": "`+name+`"}`)
}

// TestARevokedDeviceIsRemovedHoweverOftenItComesBack covers a person who adds a revoked device again and again: after
// the third time it was contended, and stayed.
func TestARevokedDeviceIsRemovedHoweverOftenItComesBack(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t)
		b.addsNora("hers")
		b.start()
		defer b.stop()
		b.seen()
		b.changed(tmpl(1, fleet.OpRemove, "devices", `["`+string(nora)+`"]`))
		b.wantState(fleet.ConfigHeld, "")
		if _, _, err := b.engine.Apply(t.Context(), b.id, b.plan().Digest, consent("devices."+string(nora))); err != nil {
			t.Fatal(err)
		}
		b.want("devices."+string(nora), "absent")
		for range 6 {
			b.addsNora("again")
			b.seen()
			b.later(time.Minute)
			b.want("devices."+string(nora), "absent")
		}
		if s := b.state(); s.Configuration != fleet.ConfigFailed ||
			!strings.Contains(s.Reason, "is revoked, and somebody at the daemon brings it back again and again") {
			t.Errorf("it is not told: %+v", s)
		}
		b.later(2 * time.Hour)
		b.wantState(fleet.ConfigInSync, "")
	})
}

// revoke revokes a device, or ends its revocation, and waits for what follows.
func (b *bench) revoke(id fleet.DeviceID, revoked bool) {
	b.storeRevocation(id, revoked)
	b.engine.RegistryChanged()
	synctest.Wait()
}

func (b *bench) storeRevocation(id fleet.DeviceID, revoked bool) {
	b.store.mu.Lock()
	next := *b.store.registry
	next.Revocations = nil
	if revoked {
		next.Revocations = map[fleet.DeviceID]fleet.Revocation{id: {Device: id, By: "root", At: time.Now()}}
	}
	b.store.registry = &next
	b.store.mu.Unlock()
}

// TestADeviceWithoutTemplatesDropsWhatIsRevoked: no template applies, so the daemon was not planned for at all.
func TestADeviceWithoutTemplatesDropsWhatIsRevoked(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t)
		b.addsNora("hers")
		b.start()
		defer b.stop()
		b.seen()
		b.wantState(fleet.ConfigUnmanaged, "")
		b.revoke(nora, true)
		b.want("devices."+string(nora), "absent")
		if s := b.state(); s.BroughtBack != "" {
			t.Errorf("the first time it is told as brought back: %s", s.BroughtBack)
		}
		b.addsNora("again")
		b.seen()
		b.want("devices."+string(nora), "absent")
		if s := b.state(); s.Configuration == fleet.ConfigFailed ||
			!strings.Contains(s.BroughtBack, "is revoked, and somebody at the daemon brought it back") {
			t.Errorf("it is not told: %+v", s)
		}
		why := b.engine.WhyRevoked(t.Context(), b.id, nora)
		if !strings.Contains(why, "muster revocation delete") || strings.Contains(why, "root") {
			t.Errorf("a knock is not answered, or names who revoked: %q", why)
		}
		b.revoke(nora, false)
		if s := b.state(); s.BroughtBack != "" {
			t.Errorf("the revocation is over, and told is %q", s.BroughtBack)
		}
		b.addsNora("again")
		b.seen()
		b.want("devices."+string(nora)+".name", `"again"`)
	})
}

// TestNothingIsWrittenToARevokedDevice: templates would give more to the person who has it.
func TestNothingIsWrittenToARevokedDevice(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t)
		b.start()
		defer b.stop()
		b.seen()
		b.revoke(b.id, true)
		b.changed(tmpl(1, fleet.OpSet, "options.maxSendKbps", "77"))
		b.wantWrites(0)
	})
}

const readsNora = `def template(config):
    return {"maxSendKbps": len(config.devices["` + string(nora) + `"].name)}`

// hasNora adds nora at the daemon, with a share.
func (b *bench) hasNora() {
	b.addsNora("hers")
	b.daemon.edit(noraShare, `{"deviceID": "`+string(nora)+`"}`)
}

const noraShare = "folders.photos-x4kd.devices." + string(nora)

func (b *bench) wantNoNora() {
	b.t.Helper()
	b.want("devices."+string(nora), "absent")
	b.want(noraShare, "absent")
}

// TestATemplateThatFailsKeepsNoRevokedDevice: without a plan nothing was written, and the revoked device stayed.
func TestATemplateThatFailsKeepsNoRevokedDevice(t *testing.T) {
	for name, fails := range map[string]struct {
		template fleet.TaggedTemplate
		why      string
	}{
		"it always fails":                {tmpl(2, fleet.OpMerge, "options", "def template():\n  fail('broken')"), "broken"},
		"it needs a deleted secret":      {tmpl(2, fleet.OpSet, "gui.password", `secret("gone")`), `"gone"`},
		"it reads the revoked device":    {tmpl(2, fleet.OpMerge, "options", readsNora), "template 2"},
		"it has a value of another type": {tmpl(2, fleet.OpSet, "options.maxSendKbps", `"fast"`), "template 2"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				b := newBench(t, noNAT)
				b.hasNora()
				b.start()
				defer b.stop()
				b.seen()
				b.want("options.natEnabled", "false")
				b.register(noNAT, fails.template)
				b.revoke(nora, true)
				b.wantNoNora()
				b.wantState(fleet.ConfigFailed, fails.why)
				b.want("options.natEnabled", "false")
				if all := b.store.outcomes(); all[len(all)-1] != fleet.OutcomeApplied {
					t.Errorf("outcomes %v", all)
				}
				writes := len(b.daemon.written())
				b.seen()
				b.later(time.Hour)
				b.wantWrites(writes)

				b.hasNora() // again
				b.seen()
				b.wantNoNora()
				b.wantState(fleet.ConfigFailed, fails.why)
				if told := b.state().BroughtBack; !strings.Contains(told, "somebody at the daemon brought it back") {
					t.Errorf("that it came back is told as %q", told)
				}
				b.later(time.Hour)
				b.wantState(fleet.ConfigFailed, fails.why)
				if told := b.state().BroughtBack; told != "" {
					t.Errorf("an hour later it is told that %s", told)
				}
				b.changed()
				b.want("options.natEnabled", "true")
				b.wantNoNora()
			})
		})
	}
}

// TestAContendedShareOfARevokedDeviceIsRemoved: somebody had put it back three times before the revocation. Its removal
// was held, and with it that of the device.
func TestAContendedShareOfARevokedDeviceIsRemoved(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, tmpl(1, fleet.OpRemove, "folders.photos-x4kd.devices", `["`+string(nora)+`"]`))
		b.start()
		defer b.stop()
		for range 4 {
			b.hasNora()
			b.seen()
		}
		b.wantState(fleet.ConfigContended, noraShare)
		b.want(noraShare+".deviceID", `"`+string(nora)+`"`)
		b.revoke(nora, true)
		b.wantNoNora()
		b.wantState(fleet.ConfigInSync, "")
	})
}

// TestARevocationEndsAnApplyThatIsUnderWay: the plan from before still wrote the share with the revoked device.
func TestARevocationEndsAnApplyThatIsUnderWay(t *testing.T) {
	for _, at := range []string{reconcile.StepAfterIntent, reconcile.StepAfterRead, reconcile.StepAfterWrite + "1"} {
		t.Run(at, func(t *testing.T) {
			in(t, func(t *testing.T) {
				b := newBench(t, noNAT, photos)
				wrote := 0
				b.step = func(name string) {
					if name == at && wrote == 0 {
						b.storeRevocation(nora, true)
						wrote = len(b.daemon.written()) + 1
					}
				}
				b.start()
				defer b.stop()
				for _, call := range b.daemon.written()[wrote-1:] {
					if strings.Contains(call, "POST") && strings.Contains(call, string(nora)) {
						t.Errorf("after the revocation: %s", call)
					}
				}
				b.want("devices."+string(nora), "absent")
				b.want("folders.photos.devices."+string(nora), "absent")
				b.want("folders.photos.path", `"/srv/p"`)
				b.want("options.natEnabled", "false")
				b.wantState(fleet.ConfigInSync, "")
			})
		})
	}
}

// TestARevocationEndsAnAcceptThatIsUnderWay: the device was let in after its revocation was stored.
func TestARevocationEndsAnAcceptThatIsUnderWay(t *testing.T) {
	for _, at := range []string{reconcile.StepBeforeIntent, reconcile.StepAfterRead} {
		in(t, func(t *testing.T) {
			b := newBench(t)
			b.step = func(name string) {
				if name == reconcile.ChangeStepPrefix+at {
					b.storeRevocation(fleet.DeviceID(friend), true)
				}
			}
			b.start()
			defer b.stop()
			asks := fleet.Pending{Device: b.id, From: fleet.DeviceID(friend), Name: "Friend"}
			if err := b.engine.Accept(asAdmin(t), asks, "", ""); fleet.CodeOf(err) != fleet.CodeConflict {
				t.Errorf("got %v, want a conflict", err)
			}
			b.want("devices."+friend, "absent")
			b.wantWrites(0)
		})
	}
}

// It said that `muster status` lists the stop of the revoked device, and no stop is listed.
func TestAnOrderToARevokedDeviceSaysHowTheRevocationEnds(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t)
		b.start()
		defer b.stop()
		b.seen()
		b.revoke(b.id, true)
		err := b.engine.MayOrder(t.Context(), b.id)
		var refused *fleet.Error
		if !errors.As(err, &refused) || refused.Code != fleet.CodeConflict ||
			!strings.Contains(refused.Message, "it is revoked on ") ||
			!strings.Contains(refused.Hint, "muster revocation delete") {
			t.Errorf("got %#v", err)
		}
	})
}
