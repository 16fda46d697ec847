package spine_test

import (
	"fmt"
	"net/http"
	"testing"

	"muster/api"
	"muster/internal/engine/reconcile"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

// removal is a real daemon whose folder no template asks for any more, and a home in which the removal waits.
type removal struct {
	*daemon.Daemon
	home string
}

// newRemoval has Muster make the folder and then wait for an answer to its removal.
func newRemoval(t *testing.T) removal {
	t.Helper()
	d := daemon.Start(t, daemon.Options{TLS: true})
	s := server.Start(t, server.Options{})
	enroll(t, s, d, "office")
	template := s.Template("merge", "folders.made", `{path: "~/made"}`, "office")
	s.WaitConfiguration(d.ID, fleet.ConfigInSync)
	if err := s.Client.DeleteTemplate(t.Context(), template); err != nil {
		t.Fatal(err)
	}
	s.WaitConfiguration(d.ID, fleet.ConfigHeld)
	s.Stop()
	return removal{d, s.Home}
}

// folder is the folder as the daemon has it; is tells whether it has it.
func (d removal) folder() (folder map[string]any, is bool) {
	status, _ := d.Do(http.MethodGet, "/rest/config/folders/made", nil)
	if status == http.StatusNotFound {
		return nil, false
	}
	d.GetJSON("/rest/config/folders/made", &folder)
	return folder, true
}

// killedAt has Muster killed at a step of the removal, after a person consented to it.
func (d removal) killedAt(t *testing.T, step string) {
	t.Helper()
	s := server.Start(t, server.Options{Home: d.home, KillAt: step})
	var groups []api.HeldGroup
	wait.Until(t, func() (missing string) {
		var err error
		if groups, err = s.Client.Consents(t.Context()); err != nil || len(groups) != 1 {
			return fmt.Sprintf("%d groups wait, %v", len(groups), err)
		}
		return ""
	})
	yes, g := string(fleet.AnswerConsent), groups[0]
	// The answer to the request may be lost with the process.
	_, _ = s.Client.AnswerConsents(t.Context(), api.AnswerConsents{Digest: &g.Digest, Answer: &yes,
		Shown: []api.ShownChange{{DeviceID: g.Changes[0].DeviceID, Digest: g.Changes[0].Digest}}})
	s.WaitEnd()
}

// Muster is killed with SIGKILL while it removes a folder with a person's consent. The next start removes the folder if
// the daemon was not told yet, since the answer was recorded.
func TestARemovalThatWasKilledBeforeItsWriteIsDoneOnce(t *testing.T) {
	t.Parallel()
	for _, step := range []string{reconcile.StepBeforeIntent, reconcile.StepAfterIntent,
		reconcile.StepBeforeWrite + "1"} {
		t.Run(step, func(t *testing.T) {
			d := newRemoval(t)
			d.killedAt(t, step)
			if _, is := d.folder(); !is {
				t.Fatal("the folder was removed before the step")
			}
			s := server.Start(t, server.Options{Home: d.home})
			s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
			if _, is := d.folder(); is {
				t.Error("nothing is to be done, and the daemon has the folder")
			}
		})
	}
}

// Muster was killed after the daemon had removed the folder. A person put the folder back before the next start. It is
// not removed a second time: the person is asked.
func TestARemovalThatWasKilledAfterItsWriteIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, step := range []string{reconcile.StepAfterWrite + "1", reconcile.StepBeforeVerify,
		reconcile.StepBeforeOutcome} {
		t.Run(step, func(t *testing.T) {
			d := newRemoval(t)
			folder, _ := d.folder()
			d.killedAt(t, step)
			if _, is := d.folder(); is {
				t.Fatal("the folder is there after the step")
			}
			d.Put("/rest/config/folders/made", folder)
			s := server.Start(t, server.Options{Home: d.home})
			s.WaitConfiguration(d.ID, fleet.ConfigHeld)
			if _, is := d.folder(); !is {
				t.Error("the folder that a person put back was removed by the first answer")
			}
		})
	}
}
