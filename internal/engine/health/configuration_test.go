package health

import (
	"strings"
	"testing"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

func key(t *testing.T, text string) stconfig.Key {
	t.Helper()
	k, err := stconfig.ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestWhatAPassFoundDecidesTheConfiguration(t *testing.T) {
	nat, path := key(t, "options.natEnabled"), key(t, "folders.photos.path")
	free := plan.Change{Key: nat, Class: plan.Free}
	drift := plan.Change{Key: nat, Class: plan.Free, Drift: true}
	held := plan.Change{Key: path, Class: plan.Held, Reason: "the path moves"}
	refused := plan.Change{Key: path, Class: plan.Refused, Reason: "no path"}
	skipped := plan.Change{Key: nat, Class: plan.Skipped, Reason: "unknown here"}
	stoppedChange := plan.Change{Key: nat, Class: plan.Held, Stopped: true}
	stop := func(kind fleet.StopKind) []fleet.Stop {
		return []fleet.Stop{{Key: nat.String(), Kind: kind, Reason: "again and again"}}
	}
	of := func(changes ...plan.Change) plan.Findings {
		return plan.Findings{Plan: plan.Plan{Changes: changes}, Templates: 1, Online: true, Mode: fleet.ModeOn}
	}
	with := func(f plan.Findings, change func(*plan.Findings)) plan.Findings {
		change(&f)
		return f
	}
	fault := fleet.Stop{Kind: fleet.StopFolder, Reason: `folder "photos" is in error`}
	unsaved := fleet.Stop{Kind: fleet.StopUnsaved, Reason: "disk full"}
	for name, c := range map[string]struct {
		found        plan.Findings
		want         fleet.Configuration
		reason, next string // parts
	}{
		"paused":       {plan.Findings{Result: plan.Paused}, fleet.ConfigUnknown, "paused", "Set its mode"},
		"never read":   {plan.Findings{Result: plan.NeverRead}, fleet.ConfigUnknown, "never read", "answers"},
		"no templates": {plan.Findings{Result: plan.NoTemplates}, fleet.ConfigUnmanaged, "no template applies", ""},
		"unbelievable": {
			plan.Findings{Result: plan.Unbelievable, Reason: "no version"}, fleet.ConfigUnknown, "no version",
			"Nothing is planned",
		},
		"template fails": {
			plan.Findings{Result: plan.Unplannable, Reason: "line 3"}, fleet.ConfigFailed, "line 3", "Correct the template",
		},
		"template, hint": {
			plan.Findings{Result: plan.Unplannable, Reason: "line 3", Next: "Quote it."}, fleet.ConfigFailed, "line 3",
			"Quote it.",
		},
		"held with its dependents": {of(plan.Change{Key: key(t, "ignores.photos"), Class: plan.Held, Dependent: true,
			Reason: "left out together with folders.photos"}, held), fleet.ConfigHeld,
			"folders.photos.path: the path moves", ""},
		"too old": {plan.Findings{Result: plan.TooOld}, fleet.ConfigFailed, "too old", "Upgrade"},
		"access lost": {
			plan.Findings{Result: plan.AccessLost, Reason: "lost", Next: "Go there."}, fleet.ConfigFailed, "lost", "Go there.",
		},
		"key refused": {
			plan.Findings{Result: plan.KeyRefused, Reason: "refused"}, fleet.ConfigFailed, "refused", "Read the key",
		},
		"unverified": {plan.Findings{Result: plan.Unverified}, fleet.ConfigPending, "not known yet", "verified"},
		"applying": {
			with(of(free), func(f *plan.Findings) { f.Result = plan.Applying }), fleet.ConfigApplying,
			"options.natEnabled is being sent", "",
		},
		"in sync": {of(), fleet.ConfigInSync, "has what its templates ask for", ""},
		"nothing applies": {
			with(of(), func(f *plan.Findings) { f.Templates = 0 }), fleet.ConfigUnmanaged, "no template applies", "",
		},
		"in sync, away": {
			with(of(), func(f *plan.Findings) { f.Online = false }), fleet.ConfigUnknown, "cannot be reached", "read again",
		},
		"skipped": {of(skipped), fleet.ConfigInSync, "options.natEnabled is skipped: unknown here", ""},
		"restart by person": {
			with(of(), func(f *plan.Findings) { f.Restart = plan.RestartByPerson }), fleet.ConfigInSync, "restart required",
			"set restart to true",
		},
		"restart told": {
			with(of(), func(f *plan.Findings) { f.Restart = plan.RestartTold }), fleet.ConfigInSync, "told the daemon",
			"--no-restart",
		},
		"doubted, not skipped": {with(of(skipped), func(f *plan.Findings) {
			f.Mistakes = []plan.Mistake{{Template: 4, Key: nat, Text: "template 4: perhaps a mistake"}, {Template: 5}}
		}), fleet.ConfigInSync, "for; template 4: perhaps a mistake (and 1 more)", "Mend template 4"},
		"contradicts": {
			with(of(), func(f *plan.Findings) { f.Conflicts = []string{"4 over 5"} }), fleet.ConfigInSync, "; 4 over 5", "",
		},
		"pending": {of(free), fleet.ConfigPending, "is to change as the templates ask", "tried again shortly"},
		"pending, away": {
			with(of(free), func(f *plan.Findings) { f.Online = false }), fleet.ConfigPending, "is to change", "can be reached",
		},
		"pending, observe": {
			with(of(free), func(f *plan.Findings) { f.Mode = fleet.ModeObserve }), fleet.ConfigPending, "is to change",
			"muster status",
		},
		"drift":            {of(drift), fleet.ConfigPending, "(drift)", ""},
		"drift and intent": {of(drift, free), fleet.ConfigPending, "as the templates ask", ""},
		"attempt failed": {
			with(of(free), func(f *plan.Findings) { f.Failure = "503" }), fleet.ConfigPending, "the last attempt failed: 503",
			"daemon's own GUI",
		},
		"held": {
			of(held), fleet.ConfigHeld, "folders.photos.path waits for consent: the path moves", "muster apply",
		},
		"held over pending": {
			of(free, held), fleet.ConfigHeld, "waits for consent", "muster apply",
		},
		"refused":          {of(refused), fleet.ConfigHeld, "is never done: no path", "Change the template"},
		"held and refused": {of(refused, held), fleet.ConfigHeld, "waits for consent", "muster apply"},
		"rejected": {with(of(stoppedChange), func(f *plan.Findings) { f.Stopped = stop(fleet.StopRejected) }),
			fleet.ConfigFailed, "options.natEnabled: again and again", "not repeated"},
		"contended": {with(of(stoppedChange, held), func(f *plan.Findings) { f.Stopped = stop(fleet.StopContended) }),
			fleet.ConfigContended, "again and again", "Agree"},
		"unstable over contended": {with(of(stoppedChange), func(f *plan.Findings) {
			f.Stopped = append(stop(fleet.StopContended), stop(fleet.StopUnstable)...)
		}), fleet.ConfigUnstable, "again and again", "same every time"},
		"folder in error": {
			with(of(), func(f *plan.Findings) { f.Faults = []fleet.Stop{fault} }), fleet.ConfigFailed, "is in error",
			"mend the folder",
		},
		"failed over held": {
			with(of(held), func(f *plan.Findings) { f.Faults = []fleet.Stop{fault} }), fleet.ConfigFailed, "is in error", "",
		},
		"not saved": {
			with(of(), func(f *plan.Findings) { f.Unsaved = &unsaved }), fleet.ConfigPending, "may lose the last change",
			"save",
		},
		"not saved, observe": {
			with(of(), func(f *plan.Findings) { f.Unsaved, f.Mode = &unsaved, fleet.ModeObserve }), fleet.ConfigPending,
			"may have lost", "observe",
		},
		"cannot be saved": {
			with(of(), func(f *plan.Findings) { f.Unsaved, f.CannotSave = &unsaved, true }), fleet.ConfigFailed, "cannot save",
			"disk",
		},
		"a text as long as a template": {plan.Findings{Result: plan.Unplannable, Reason: strings.Repeat("ä", 1<<20)},
			fleet.ConfigFailed, "ä…", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := Configuration("A", c.found)
			if got.Configuration != c.want || !strings.Contains(got.Reason, c.reason) || !strings.Contains(got.Next, c.next) {
				t.Errorf("got %s, %q, %q", got.Configuration, got.Reason, got.Next)
			}
			if c.next == "" && c.want == fleet.ConfigInSync && got.Next != "" {
				t.Errorf("got a next step: %q", got.Next)
			}
			if len(got.Reason) > 3<<10 {
				t.Errorf("the reason has %d bytes", len(got.Reason))
			}
		})
	}
}

func TestADeviceStandsDifferentlyOnlyWhenSomethingChanged(t *testing.T) {
	h := New()
	if got := h.Condition("A"); got.Configuration != fleet.ConfigUnknown || got.Next == "" {
		t.Errorf("before any pass: got %+v", got)
	}
	failed := plan.Findings{Result: plan.Unplannable, Reason: "line 3"}
	for i, step := range []struct {
		found plan.Findings
		want  bool
	}{
		{plan.Findings{Result: plan.NoTemplates}, true},
		{plan.Findings{Result: plan.NoTemplates}, false},
		{failed, true},
		{failed, false},
		{plan.Findings{Result: plan.Unplannable, Reason: "line 4"}, true},
		{plan.Findings{Result: plan.Gone}, true},
		{plan.Findings{Result: plan.Gone}, false},
	} {
		if got := h.Found("A", step.found); got != step.want {
			t.Errorf("step %d: got %t", i, got)
		}
	}
	if got := h.Condition("A"); got.Configuration != fleet.ConfigUnknown {
		t.Errorf("a deleted device is remembered: got %+v", got)
	}
}

// Where the templates failed, nobody was told that a revoked device had been brought back; nor while Muster wrote.
func TestABroughtBackDeviceIsToldWhateverAPassFound(t *testing.T) {
	back := []fleet.Stop{{Kind: fleet.StopBroughtBack, Reason: "N is revoked, and somebody brought it back"}}
	for _, result := range []plan.Result{plan.Planned, plan.Applying, plan.Unplannable} {
		got := Configuration("A", plan.Findings{Result: result, Reason: "line 3", BroughtBack: back, Templates: 1})
		if got.BroughtBack != back[0].Reason {
			t.Errorf("result %d: got %q", result, got.BroughtBack)
		}
	}
}
