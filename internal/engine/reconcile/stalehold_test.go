package reconcile_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

// authors gives a template as one that an author saved last.
func authors(t fleet.TaggedTemplate) fleet.TaggedTemplate {
	t.SavedRole = fleet.RoleAuthor
	return t
}

// TestTroubleInTheFoldOfTheAdminsDoesNotHold covers memory, a worker and a context that fail in the second fold of a
// plan, the one of the admins' templates alone. A folder of an admin stood held "because no template of an admin asks
// for it" until somebody changed something.
func TestTroubleInTheFoldOfTheAdminsDoesNotHold(t *testing.T) {
	of := func(trouble func(b *bench) error) {
		in(t, func(t *testing.T) {
			b := newBench(t, authors(tmpl(1, fleet.OpSet, "options.natEnabled", "true")), photos) // 1 changes nothing
			refused := 0
			b.take = func() error {
				b.evals.mu.Lock()
				defer b.evals.mu.Unlock()
				if b.evals.runs != 3 || refused > 0 { // 1 and 2 are the fold of all templates
					return nil
				}
				refused++
				return trouble(b)
			}
			b.start()
			defer b.stop()
			b.later(3 * time.Second)
			if refused != 1 {
				t.Fatalf("refused %d times", refused)
			}
			b.want("folders.photos.path", `"/srv/p"`)
			b.wantState(fleet.ConfigInSync, "")
		})
	}
	of(func(*bench) error { return errors.New("the work needs a part of the memory") })
	of(func(*bench) error { return &fleet.Error{Code: fleet.CodeUnavailable, Message: "no worker"} })
}

// TestAHoldEndsOnceAnAdminLetTheTemplateGo covers a template that an author takes away, and that an admin gives and
// takes away before the device is planned again: the templates are the same, who let it go is not.
func TestAHoldEndsOnceAnAdminLetTheTemplateGo(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, tmpl(1, fleet.OpSet, "options.natEnabled", "false"))
		by := fleet.RoleAuthor
		b.store.letGoBy = func(int64) (fleet.Role, error) { return by, nil }
		b.start()
		defer b.stop()
		b.want("options.natEnabled", "false")
		b.changed()
		b.wantState(fleet.ConfigHeld, "")
		b.store.mu.Lock()
		by = fleet.RoleAdmin
		b.store.mu.Unlock()
		b.changed()
		b.want("options.natEnabled", "true")
	})
}

// TestWhoLetATemplateGoIsAskedAgainAfterAnError covers a database that is away for a moment: the change was held.
func TestWhoLetATemplateGoIsAskedAgainAfterAnError(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, tmpl(1, fleet.OpSet, "options.natEnabled", "false"))
		failures := 1
		b.store.letGoBy = func(int64) (fleet.Role, error) {
			if failures > 0 {
				failures--
				return "", &fleet.Error{Code: fleet.CodeUnavailable, Message: "no database"}
			}
			return fleet.RoleAdmin, nil
		}
		b.start()
		defer b.stop()
		b.changed()
		b.later(3 * time.Second)
		b.want("options.natEnabled", "true")
	})
}

// TestAPeersAddressIsAnInput covers an author's template that gives a device the address that devices() gives: it was
// held for ever when the peer got its address after the plan.
func TestAPeersAddressIsAnInput(t *testing.T) {
	in(t, func(t *testing.T) {
		text := `{"deviceID": "` + string(nora) + `", "addresses": ["tcp://10.1.2.3:22000"]}`
		names := authors(tmpl(1, fleet.OpMerge, "devices", "["+text+"]"))
		names.Reads = fleet.Inputs{Known: true, Sharing: true}
		b := newBench(t, names)
		b.start()
		defer b.stop()
		b.wantState(fleet.ConfigHeld, "")
		b.register(b.store.registry.Templates...)
		b.store.registry.Devices[nora].APIAddress = "10.1.2.3"
		b.engine.RegistryChanged()
		synctest.Wait()
		b.want("devices."+string(nora)+".addresses", `["tcp://10.1.2.3:22000"]`)
		b.wantState(fleet.ConfigInSync, "")
	})
}

// TestAnAdminsDeletionIsForetoldAsFree covers an admin who looks at what deleting a template would do. A key that
// authors may not set was foretold as held, and was then free.
func TestAnAdminsDeletionIsForetoldAsFree(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, tmpl(1, fleet.OpSet, "options.natEnabled", "false"))
		b.start()
		defer b.stop()
		for role, want := range map[fleet.Role]plan.Class{fleet.RoleAdmin: plan.Free, fleet.RoleAuthor: plan.Held} {
			then := *b.store.registry
			then.Templates = nil
			found := ""
			err := b.engine.WhatIf(fleet.WithRole(t.Context(), role), b.store.registry, &then, func(e plan.Effect) {
				found = keysOf(e.Brings)
			})
			if err != nil || found != "options.natEnabled:"+string(want) {
				t.Errorf("for an %s it brings %q, %v, want %s", role, found, err, want)
			}
		}
	})
}
