package rollout_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/core/stconfig"
	"muster/internal/engine/reconcile"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/wait"
)

// personEdits is a person who edits the configuration at the daemon. It waits until Muster has seen the edit, and
// gives the number of the revision.
func (w *world) personEdits(d *stsim.Daemon, at string, value stconfig.Value) int64 {
	w.t.Helper()
	before := w.revisions(d)[0].Number
	key, err := stconfig.ParseKey(at)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := d.Edit(func(doc stconfig.Value) stconfig.Value {
		return stconfig.Patch(doc, []stconfig.Change{{Key: key, From: stconfig.Lookup(doc, key), To: value}})
	}); err != nil {
		w.t.Fatal(err)
	}
	var newest api.Revision
	wait.Until(w.t, func() string {
		if newest = w.revisions(d)[0]; newest.Number <= before {
			return "the edit was not seen"
		}
		return ""
	})
	if newest.Cause != fleet.CauseDaemon {
		w.t.Errorf("revision %d has cause %q", newest.Number, newest.Cause)
	}
	return newest.Number
}

func (w *world) revisions(d *stsim.Daemon) []api.Revision {
	w.t.Helper()
	var all []api.Revision
	wait.Until(w.t, func() string {
		var err error
		if all, err = w.Client.Revisions(w.t.Context(), string(d.ID()), client.List{}); err != nil {
			return err.Error()
		}
		if len(all) == 0 {
			return "no revision yet"
		}
		return ""
	})
	return all
}

func (w *world) restore(d *stsim.Daemon, number int64, body api.Restore) api.Restored {
	w.t.Helper()
	restored, err := w.Client.RestoreRevision(w.t.Context(), string(d.ID()), number, body)
	if err != nil {
		w.t.Fatal(err)
	}
	return restored
}

func text(s string) *string { return &s }

func TestARevisionIsRestoredThroughPlanAndGuard(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, server.Options{})
	d := w.farm.Daemon(0)
	first := w.revisions(d)[0].Number
	folder := d.FolderIDs()[0]
	w.personEdits(d, "options.maxSendKbps", stconfig.Literal("77"))
	w.personEdits(d, "gui.password", stconfig.Text("new password"))
	last := w.personEdits(d, "folders."+folder+".rescanIntervalS", stconfig.Literal("77"))

	diff, err := w.Client.CompareRevisions(t.Context(), string(d.ID()), first, last)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]api.KeyChange{}
	for _, c := range diff.Changes {
		keys[c.Key] = c
	}
	if len(keys) != 3 || string(keys["options.maxSendKbps"].To) != "77" ||
		string(keys["gui.password"].To) != `"[secret]"` {
		t.Errorf("got %s", mustJSON(diff.Changes))
	}

	// One section only.
	got := w.restore(d, first, api.Restore{Section: text("options")})
	if !got.Done || option(d, "maxSendKbps") != "0" || len(got.Plan.Changes) != 1 {
		t.Errorf("got %+v, option %s", got, option(d, "maxSendKbps"))
	}
	// Everything: the password stays.
	hash := d.Config().Get("gui").Get("password").Str()
	got = w.restore(d, first, api.Restore{})
	if !got.Done || d.Config().Get("gui").Get("password").Str() != hash {
		t.Errorf("got %+v", got)
	}
	if len(got.Left) != 1 || got.Left[0].Key != "gui.password" || !strings.Contains(got.Left[0].Reason, "password hash") {
		t.Errorf("left out: %+v", got.Left)
	}
	wait.Until(t, func() string {
		if newest := w.revisions(d)[0]; newest.Cause != fleet.CauseRestore {
			return "the newest revision has cause " + newest.Cause
		}
		return ""
	})
	// Again: nothing to do.
	w.reset()
	if got = w.restore(d, first, api.Restore{}); got.Done || got.Reason == "" || d.Counters().Writes != 0 {
		t.Errorf("got %+v", got)
	}
}

func mustJSON(v any) []byte {
	b, _ := json.Marshal(v)
	return b
}

func TestARestoreThatCostsAFolderWaitsForConsent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, server.Options{})
	d := w.farm.Daemon(0)
	first := w.revisions(d)[0].Number
	own := stconfig.Obj(stconfig.Member{Name: "id", Value: stconfig.Text("new")},
		stconfig.Member{Name: "path", Value: stconfig.Text("~/new")})
	w.personEdits(d, "folders.new", own)
	w.personEdits(d, "options.maxSendKbps", stconfig.Literal("77"))
	w.reset()
	held := w.restore(d, first, api.Restore{})
	if held.Done || d.Counters().Writes != 0 || option(d, "maxSendKbps") != "77" {
		t.Fatalf("%d writes before consent: %+v", d.Counters().Writes, held)
	}
	if _, err := w.Client.RestoreRevision(t.Context(), string(d.ID()), first,
		api.Restore{Digest: text("another"), Consent: []string{"folders.new"}}); fleet.CodeOf(err) != fleet.CodeConflict {
		t.Errorf("got %v, want conflict", err)
	}
	done := w.restore(d, first, api.Restore{Digest: &held.Plan.Digest, Consent: []string{"folders.new"}})
	if !done.Done || folderPath(d) != "" || option(d, "maxSendKbps") != "0" {
		t.Errorf("got %+v", done)
	}
}

// What templates write is theirs: a restore leaves it out and says so.
func TestARestoreLeavesToTemplatesWhatIsTheirs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, server.Options{})
	d := w.farm.Daemon(0)
	first := w.revisions(d)[0].Number
	w.template("options", `{"maxFolderConcurrency": 3}`)
	wait.Until(t, func() string {
		if newest := w.revisions(d)[0]; newest.Number == first || newest.Cause != fleet.CauseTemplate {
			return "the template's revision is not there: " + newest.Cause
		}
		return ""
	})
	w.inSync(d)
	got := w.restore(d, first, api.Restore{})
	if got.Done || len(got.Left) != 1 || !strings.Contains(got.Left[0].Reason, "templates") ||
		option(d, "maxFolderConcurrency") != "3" {
		t.Errorf("got %+v", got)
	}
}

// A restore that a crash interrupts is not taken for something that templates did, and nothing of it is sent twice.
func TestTheCauseOfARestoreSurvivesACrash(t *testing.T) {
	t.Parallel()
	for _, step := range []string{afterIntent, afterWrites, beforeOutcome} {
		t.Run(step, func(t *testing.T) {
			w := newWorld(t, 1, server.Options{KillAt: step})
			d := w.farm.Daemon(0)
			first := w.revisions(d)[0].Number
			edited := w.personEdits(d, "options.maxSendKbps", stconfig.Literal("77"))
			w.reset()
			if _, err := w.Client.RestoreRevision(t.Context(), string(d.ID()), first, api.Restore{}); err == nil {
				t.Fatal("the server was to be killed")
			}
			w.WaitEnd()
			w.restart()
			if step == afterIntent {
				w.WaitConnection(d.ID(), fleet.Online)
				w.inSync(d)
				if newest := w.revisions(d)[0]; newest.Number != edited || newest.Cause != fleet.CauseDaemon ||
					d.Counters().Writes != 0 {
					t.Errorf("got revision %d because of %q after %d writes, want the person's edit as it was", newest.Number,
						newest.Cause, d.Counters().Writes)
				}
				return
			}
			wait.Until(t, func() string {
				if newest := w.revisions(d)[0]; newest.Number == edited || newest.Cause != fleet.CauseRestore {
					return fmt.Sprintf("revision %d has cause %q", newest.Number, newest.Cause)
				}
				return ""
			})
			if d.Counters().Writes != 1 || option(d, "maxSendKbps") != "0" {
				t.Errorf("%d writes, maxSendKbps is %s", d.Counters().Writes, option(d, "maxSendKbps"))
			}
		})
	}
}

// The steps of a change of a person's own, with one write.
const (
	afterIntent   = reconcile.ChangeStepPrefix + reconcile.StepAfterIntent
	afterWrites   = reconcile.ChangeStepPrefix + reconcile.StepBeforeVerify
	beforeOutcome = reconcile.ChangeStepPrefix + reconcile.StepBeforeOutcome
)
