package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

// effects are those of another list of templates, by device.
func (b *bench) effects(templates ...fleet.TaggedTemplate) map[fleet.DeviceID]plan.Effect {
	b.t.Helper()
	now := b.store.registry
	then := *now
	then.Templates = templates
	got := map[fleet.DeviceID]plan.Effect{}
	admin := fleet.WithRole(b.t.Context(), fleet.RoleAdmin)
	if err := b.engine.WhatIf(admin, now, &then, func(e plan.Effect) { got[e.Device] = e }); err != nil {
		b.t.Fatal(err)
	}
	return got
}

func keysOf(changes []plan.Change) string {
	var keys []string
	for _, c := range changes {
		keys = append(keys, fmt.Sprintf("%s:%s", c.Key, c.Class))
	}
	slices.Sort(keys)
	return strings.Join(keys, " ")
}

func TestWhatIfSaysWhatAnotherRegistryBringsAndDrops(t *testing.T) {
	held := tmpl(5, fleet.OpSet, "gui.user", `"somebody"`)
	in(t, func(t *testing.T) {
		b := newBench(t, noNAT, held)
		b.start()
		defer b.stop()
		reads := b.daemon.reads
		before := b.daemon.written()
		for name, one := range map[string]struct {
			templates     []fleet.TaggedTemplate
			brings, drops string
		}{
			"the same": {[]fleet.TaggedTemplate{noNAT, held}, "", ""},
			"a new one": {[]fleet.TaggedTemplate{noNAT, held, tmpl(9, fleet.OpSet, "options.maxSendKbps", "7")},
				"options.maxSendKbps:free", ""},
			"one deleted":      {[]fleet.TaggedTemplate{held}, "options.natEnabled:free", ""},
			"one held deleted": {[]fleet.TaggedTemplate{noNAT}, "", "gui.user:held"},
			"one held changed": {[]fleet.TaggedTemplate{noNAT, tmpl(5, fleet.OpSet, "gui.user", `"another"`)}, "gui.user:held",
				""},
			"another by priority": {[]fleet.TaggedTemplate{tmpl(9, fleet.OpSet, "options.natEnabled", "true"), noNAT, held},
				"", ""},
		} {
			effect := b.effects(one.templates...)[b.id]
			if got := keysOf(effect.Brings); got != one.brings {
				t.Errorf("%s: brings %q, want %q", name, got, one.brings)
			}
			if got := keysOf(effect.Drops); got != one.drops {
				t.Errorf("%s: drops %q, want %q", name, got, one.drops)
			}
		}
		if b.daemon.reads != reads || !slices.Equal(b.daemon.written(), before) {
			t.Error("the daemon was asked")
		}
	})
}

func TestWhatIfSaysWhyADeviceWouldFailAndWhichWasNeverRead(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t)
		b.store.registry.Devices[nora].Tags = []fleet.Tag{"all"}
		b.start()
		defer b.stop()
		got := b.effects(tmpl(9, fleet.OpSet, "options.natEnabled", `"a text"`))
		if effect := got[b.id]; fleet.CodeOf(effect.Err) != fleet.CodeInvalid || len(effect.Brings) > 0 {
			t.Errorf("got %+v, want an error of the template", effect)
		}
		if !got[nora].Unread {
			t.Errorf("got %+v for a device that was never read", got[nora])
		}
	})
}

func TestWhatIfEndsWithItsContextAndWithTheWorkersTrouble(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t)
		b.start()
		defer b.stop()
		then := *b.store.registry
		then.Templates = []fleet.TaggedTemplate{noNAT}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.engine.WhatIf(ctx, b.store.registry, &then, func(plan.Effect) {}); !errors.Is(err,
			context.Canceled) {
			t.Errorf("got %v, want canceled", err)
		}
		b.evals.fails(&fleet.Error{Code: fleet.CodeUnavailable, Message: "no worker"})
		err := b.engine.WhatIf(t.Context(), b.store.registry, &then, func(e plan.Effect) { t.Errorf("got %+v", e) })
		if fleet.CodeOf(err) != fleet.CodeUnavailable {
			t.Errorf("got %v, want unavailable", err)
		}
	})
}

func TestPlannedGivesTheChangesOfThePlan(t *testing.T) {
	in(t, func(t *testing.T) {
		b := newBench(t, tmpl(5, fleet.OpSet, "gui.user", `"somebody"`))
		b.store.registry.Devices[nora].Tags = []fleet.Tag{"all"}
		b.start()
		defer b.stop()
		made, err := b.engine.Plan(t.Context(), b.id)
		if err != nil {
			t.Fatal(err)
		}
		reads, got := b.daemon.reads, map[fleet.DeviceID]string{}
		err = b.engine.Planned(t.Context(), b.store.registry, []fleet.DeviceID{b.id, nora},
			func(id fleet.DeviceID, changes []plan.Change, failed error) {
				if failed != nil {
					t.Errorf("%s: %v", id, failed)
				}
				got[id] = keysOf(changes)
			})
		if want := keysOf(made.Changes); err != nil || len(got) != 1 || want == "" || got[b.id] != want {
			t.Errorf("got %v, %v, want %q of the device that was read", got, err, want)
		}
		if b.daemon.reads != reads {
			t.Error("the daemon was asked")
		}
	})
}

// An undo was told that it answers the removal of a folder that a person puts back again and again, and the folder
// stayed: a stop that the change does not end counts after it, too.
func TestWhatIfKnowsTheStopsThatAChangeDoesNotEnd(t *testing.T) {
	made := tmpl(1, fleet.OpMerge, "folders", `def template(device):
    return [{"id": "made", "path": "~/made"}] if device.label == "one" else []`)
	for name, c := range map[string]struct {
		stopped    bool
		templates  []fleet.TaggedTemplate
		answerable bool
	}{
		"stopped":                        {true, []fleet.TaggedTemplate{made}, false},
		"not stopped":                    {false, []fleet.TaggedTemplate{made}, true},
		"stopped, and the template goes": {true, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				b := newBench(t, made)
				b.start()
				defer func() { b.stop() }()
				b.want("folders.made.path", `"~/made"`)
				if c.stopped {
					b.stop()
					b.store.stops = map[fleet.DeviceID][]fleet.Stop{b.id: {{Key: "folders.made", Kind: fleet.StopContended,
						Reason: "a person takes it back", Since: time.Now()}}}
					b.start()
				}
				then := *b.store.registry
				renamed := *then.Devices[b.id]
				renamed.Label = "two"
				then.Templates, then.Devices = c.templates, maps.Clone(then.Devices)
				then.Devices[b.id] = &renamed
				var got plan.Effect
				if err := b.engine.WhatIf(t.Context(), b.store.registry, &then, func(e plan.Effect) {
					got = e
				}); err != nil {
					t.Fatal(err)
				}
				if keys := keysOf(got.Brings); keys != "folders.made:held" {
					t.Errorf("it brings %q", keys)
				}
				if _, answerable := got.Answerable["folders.made"]; answerable != c.answerable {
					t.Errorf("answerable: %t, want %t", answerable, c.answerable)
				}
			})
		})
	}
}

// Who renamed a device twice within a second was told that "Muster's earlier value was put back": the store had the
// document from before the first rename was written, and the entries from after it.
func TestWhatIfDoesNotTakeAnOlderDocumentForMustersEarlierValue(t *testing.T) {
	const name = "devices." + string(nora) + ".name"
	in(t, func(t *testing.T) {
		b := newBench(t, tmpl(1, fleet.OpMerge, "folders", `[{"id": "made", "path": "/home/one/made", "devices": `+
			`[{"deviceID": "`+string(nora)+`"}]}]`))
		b.start()
		defer b.stop()
		b.want(name, `"Nora"`)
		b.store.mu.Lock()
		old := b.store.observed[b.id]
		b.store.mu.Unlock()
		b.later(time.Second)
		b.store.mu.Lock()
		b.store.registry = b.renamed("Eva")
		b.store.mu.Unlock()
		b.engine.RegistryChanged()
		synctest.Wait()
		b.want(name, `"Eva"`)
		b.store.mu.Lock()
		b.store.observed[b.id] = old
		b.store.mu.Unlock()
		var got string
		admin := fleet.WithRole(t.Context(), fleet.RoleAdmin)
		if err := b.engine.WhatIf(admin, b.store.registry, b.renamed("Ada"), func(e plan.Effect) {
			if e.Device == b.id { // the other device has an effect, too
				got = keysOf(e.Brings)
			}
		}); err != nil {
			t.Fatal(err)
		}
		if got != name+":implied" {
			t.Errorf("got %q, want that the shared folder needs the new name", got)
		}
	})
}

// renamed is the registry with another label of nora.
func (b *bench) renamed(label string) *fleet.Registry {
	then := *b.store.registry
	then.Generation++
	then.Devices = maps.Clone(then.Devices)
	renamed := *then.Devices[nora]
	renamed.Label = label
	then.Devices[nora] = &renamed
	return &then
}
