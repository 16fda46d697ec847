package copies_test

import (
	"fmt"
	"strings"
	"testing"

	"muster/api"
	"muster/client"
	"muster/test/daemon"
	"muster/test/wait"
)

// waitHeld waits until one change waits, with this in its reason.
func (w *world) waitHeld(t *testing.T, key, part string) (group api.HeldGroup) {
	t.Helper()
	wait.Until(t, func() string {
		groups, err := w.Client.Consents(t.Context())
		if err != nil || len(groups) != 1 || len(groups[0].Changes) != 1 || groups[0].Changes[0].Key != key ||
			!strings.Contains(groups[0].Changes[0].Reason, part) {
			return fmt.Sprintf("want %s with %q, got %+v, %v", key, part, groups, err)
		}
		group = groups[0]
		return ""
	})
	return group
}

func (w *world) setPolicy(t *testing.T, value string) {
	t.Helper()
	if _, err := w.Client.PutSetting(t.Context(), "copyPolicies", value); err != nil {
		t.Fatal(err)
	}
}

// TestAShareThatIsNeededForEnoughCopiesWaits has a template end a share that carries a third copy.
func TestAShareThatIsNeededForEnoughCopiesWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.waitCopies(t, map[*daemon.Daemon]string{w.a: "proven", w.b: "proven", w.c: "proven"})
	w.setPolicy(t, "docs=3")
	key := "folders.docs.devices." + string(w.c.ID)
	w.Template("remove", "folders.docs.devices", `"`+string(w.c.ID)+`"`, "b")
	held := w.waitHeld(t, key, `of the folder "docs" is proven to be on 3 devices, would be on 1, and the policy `)
	w.has(t, w.c, "file-0", "first")

	// Nobody's answer counts for another number.
	w.setPolicy(t, "docs=2")
	w.waitHeld(t, key, "asks for 2")
	answer := "consent"
	shown := []api.ShownChange{{DeviceID: held.Changes[0].DeviceID, Digest: held.Changes[0].Digest}}
	_, err := w.Client.AnswerConsents(t.Context(), api.AnswerConsents{Digest: &held.Digest, Answer: &answer, Shown: shown})
	if client.CodeOf(err) != client.CodeConflict {
		t.Errorf("the answer to another question: %v", err)
	}

	w.setPolicy(t, "")
	wait.Until(t, func() string {
		folder := string(w.b.Get("/rest/config/folders/docs"))
		if strings.Contains(folder, string(w.c.ID)) {
			return "it is shared still: " + folder
		}
		return ""
	})
}

// TestAnOrderToRestartAllCopiesIsRefused gives an order to all devices that have a folder with a policy.
func TestAnOrderToRestartAllCopiesIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.waitCopies(t, map[*daemon.Daemon]string{w.a: "proven", w.b: "proven", w.c: "proven"})
	w.setPolicy(t, "docs=2")
	all := []string{string(w.a.ID), string(w.b.ID), string(w.c.ID)}
	_, err := w.Client.OrderToDevices(t.Context(), all, client.OrderSpec{Type: client.OrderUpgrade})
	if err == nil || !strings.Contains(err.Error(), `copies of the folder "docs"`) {
		t.Errorf("an order to all of them: %v", err)
	}
}
