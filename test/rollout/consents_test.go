package rollout_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/core/stconfig"
	"muster/internal/engine/reconcile"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/wait"
)

// handbook is a folder that each device shares with its two neighbours among those that carry the tag "all".
const handbook = `def template(device):
    ids = [d.deviceID for d in devices("all")]
    at = ids.index(device.deviceID)
    peers = [ids[(at + 1) % len(ids)], ids[at - 1]]
    return {"label": "Handbook", "path": "~/houserules", "devices": [{"deviceID": id} for id in peers]}
`

func has(d *stsim.Daemon, folder string) bool {
	return stconfig.Lookup(d.Config(), stconfig.Key{}.Child("folders").Child(folder)).Exists()
}

func count(daemons []*stsim.Daemon, folder string) (n int) {
	for _, d := range daemons {
		if has(d, folder) {
			n++
		}
	}
	return n
}

// untilHave waits until so many daemons have a folder.
func (w *world) untilHave(folder string, n int) {
	w.t.Helper()
	wait.Until(w.t, func() string {
		if got := count(w.farm.Daemons(), folder); got != n {
			return fmt.Sprintf("%d daemons have %s, want %d", got, folder, n)
		}
		return ""
	})
}

// groups waits until so many questions are open.
func (w *world) groups(n int) (groups []api.HeldGroup) {
	w.t.Helper()
	wait.Until(w.t, func() string {
		var err error
		if groups, err = w.Client.Consents(w.t.Context()); err != nil {
			return err.Error()
		}
		if len(groups) != n {
			return fmt.Sprintf("got %d groups, want %d: %s", len(groups), n, mustJSON(groups))
		}
		return ""
	})
	return groups
}

// answerTo is an answer to everything that a group shows. With a whole rollout it is for all its members, too.
func answerTo(g api.HeldGroup, answer fleet.Answer, wholeRollout bool) api.AnswerConsents {
	given := string(answer)
	body := api.AnswerConsents{Digest: &g.Digest, Answer: &given}
	for _, c := range g.Changes {
		body.Shown = append(body.Shown, api.ShownChange{DeviceID: c.DeviceID, Digest: c.Digest})
	}
	if wholeRollout && g.Rollout != 0 {
		body.WholeRollout, body.Rollout = true, g.Rollout
	}
	return body
}

func (w *world) answer(g api.HeldGroup, answer fleet.Answer, wholeRollout bool) api.AnsweredConsents {
	w.t.Helper()
	answered, err := w.Client.AnswerConsents(w.t.Context(), answerTo(g, answer, wholeRollout))
	if err != nil {
		w.t.Fatal(err)
	}
	return answered
}

func (w *world) given() []api.GivenConsent {
	w.t.Helper()
	given, err := w.Client.GivenConsents(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return given
}

// An answer that was shown the devices of the first wave removed a folder from all thirty: the others were never shown.
// Only the choice of the whole rollout does that, and it says how many were not shown.
func TestOneAnswerRemovesAFolderFromThirtyDevices(t *testing.T) {
	t.Parallel()
	const devices = 30
	w := newWorld(t, devices, server.Options{})
	w.template("folders.houserules", handbook)
	w.comesTo(fleet.RolloutSucceeded)
	w.untilHave("houserules", devices)
	w.Template("remove", "folders.houserules", "true", "all")
	g := w.groups(1)[0]
	first := g.DeviceCount
	if g.Key != "folders.houserules" || g.Role != "operator" || g.Rollout == 0 || first == devices ||
		len(g.Changes) != first || !slices.Equal(g.Changes[0].Names.Folders, []string{"houserules"}) ||
		len(g.Changes[0].Names.Devices) < 2 || !slices.Equal(g.Changes[0].Names.Paths, []string{"~/houserules"}) {
		t.Fatalf("got %+v, want the question of the first wave, with what it names", g)
	}
	answered := w.answer(g, fleet.AnswerConsent, false)
	if answered.Rollout != 0 || answered.NotShown != 0 || len(answered.Devices) != first {
		t.Errorf("got %+v, want an answer for %d devices", answered, first)
	}
	var next api.HeldGroup
	wait.Until(t, func() string { // the next wave asks anew
		groups, err := w.Client.Consents(t.Context())
		if err != nil || len(groups) != 1 {
			return fmt.Sprintf("got %+v, %v", groups, err)
		}
		next = groups[0]
		if slices.ContainsFunc(next.Changes, func(c api.HeldChange) bool { return c.DeviceID == g.Changes[0].DeviceID }) {
			return "the first wave still asks"
		}
		return ""
	})
	if got := count(w.farm.Daemons(), "houserules"); got != devices-first {
		t.Errorf("%d devices have the folder, want all but the %d that were shown", got, first)
	}
	answered = w.answer(next, fleet.AnswerConsent, true)
	if answered.Rollout != g.Rollout || answered.NotShown < devices-next.DeviceCount-first {
		t.Errorf("got %+v, want an answer for rollout %d with how many were not shown", answered, g.Rollout)
	}
	w.untilHave("houserules", 0)
	w.comesTo(fleet.RolloutSucceeded)
	w.groups(0)
	given := w.given()
	if len(given) != devices {
		t.Errorf("got %d consents, want one for each device", len(given))
	}
	alone := 0
	for _, c := range given {
		if c.State != "used" || c.Key != "folders.houserules" || c.Rollout != 0 && c.Rollout != g.Rollout {
			t.Errorf("got %+v", c)
		}
		if c.Rollout == 0 {
			alone++
		}
	}
	if alone != first {
		t.Errorf("%d consents are for one device alone, want %d", alone, first)
	}
}

// A group "+ devices.*, iris-server-012" recorded additions of introducers on devices and of devices that it did not
// show. Each device stands there with whom it would get as an introducer, and only what was shown goes out.
func TestAGroupOfIntroducersShowsWhomItNames(t *testing.T) {
	t.Parallel()
	const devices = 4
	w := newWorld(t, devices, server.Options{})
	w.Template("merge", "devices", `def template(device):
    ids = [d.deviceID for d in devices("all")]
    at = ids.index(device.deviceID)
    peers = [ids[(at + 1) % len(ids)], ids[at - 1]]
    return [{"deviceID": id, "introducer": True} for id in peers]
`, "all")
	var changes []api.HeldChange
	var g api.HeldGroup // of the devices that do not know all of theirs yet
	wait.Until(t, func() string {
		groups, err := w.Client.Consents(t.Context())
		if err != nil {
			return err.Error()
		}
		changes = nil
		for _, one := range groups {
			if changes = append(changes, one.Changes...); one.Key == "devices.*" {
				g = one
			}
		}
		if len(changes) != 2*devices {
			return fmt.Sprintf("%d changes are shown, want %d", len(changes), 2*devices)
		}
		return ""
	})
	for _, c := range changes {
		peer := strings.TrimSuffix(strings.TrimPrefix(c.Key, "devices."), ".introducer")
		named := slices.ContainsFunc(c.Names.Devices, func(d api.NamedDevice) bool { return d.DeviceID == peer })
		if !named || string(c.To) != "true" && !strings.Contains(string(c.To), `"introducer":true`) {
			t.Errorf("got %+v", c)
		}
	}
	out := w.says("an introducer adds", "consent", "list")
	for _, c := range changes {
		if strings.Count(out, c.Label) < 1+2 {
			t.Errorf("%q is not named as a device that changes and as one that is named: %s", c.Label, out)
		}
	}
	all := len(g.Changes)
	g.Changes = g.Changes[:1] // a person is shown this one only
	answered := w.answer(g, fleet.AnswerConsent, false)
	if len(answered.Changes) != 1 || len(answered.Waiting) != all-1 {
		t.Errorf("got %+v", answered)
	}
	introducers := func(d *stsim.Daemon) (n int) {
		for entry := range d.Config().Get("devices").Values() {
			if entry.Get("introducer").IsTrue() {
				n++
			}
		}
		return n
	}
	at := slices.IndexFunc(w.farm.Daemons(), func(d *stsim.Daemon) bool { return string(d.ID()) == g.Changes[0].DeviceID })
	wait.Until(t, func() string {
		if introducers(w.farm.Daemons()[at]) == 0 {
			return "what was answered does not go out"
		}
		return ""
	})
	total := 0
	for _, d := range w.farm.Daemons() {
		total += introducers(d)
	}
	if total != 1 {
		t.Errorf("%d introducers were let out, want the one that was shown", total)
	}
}

// Devices whose folder is elsewhere, or is shared with a stranger, are another question.
func TestAnAnswerIsForEqualChangesOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 4, server.Options{})
	daemons := w.farm.Daemons()
	stranger := fleet.DeviceIDOf([32]byte{9})
	for i, d := range daemons {
		path, peer := "~/private", daemons[(i+1)%4].ID()
		switch i {
		case 2:
			path = "~/elsewhere"
		case 3:
			peer = stranger
		}
		w.personEdits(d, "devices."+string(peer), mustParse(t, fmt.Sprintf(`{"deviceID": %q}`, peer)))
		w.personEdits(d, "folders.private",
			mustParse(t, fmt.Sprintf(`{"id": "private", "path": %q, "devices": [{"deviceID": %q}]}`, path, peer)))
	}
	w.Template("remove", "folders.private", "true", "all")
	var pair api.HeldGroup
	wait.Until(t, func() string { // three groups are there before the second device of the pair is planned
		groups := w.groups(3)
		i := slices.IndexFunc(groups, func(g api.HeldGroup) bool { return g.DeviceCount == 2 })
		if i < 0 {
			return "no two devices have the same question: " + string(mustJSON(groups))
		}
		pair = groups[i]
		return ""
	})
	if answered := w.answer(pair, fleet.AnswerConsent, false); len(answered.Devices) != 2 || answered.Next == "" {
		t.Errorf("got %+v", answered)
	}
	w.untilHave("private", 2)
	if has(daemons[0], "private") || has(daemons[1], "private") {
		t.Error("the folder went from other devices than those of the question")
	}
	w.groups(2)
	_, err := w.Client.AnswerConsents(t.Context(), answerTo(pair, fleet.AnswerConsent, false))
	if fleet.CodeOf(err) != fleet.CodeConflict || !strings.Contains(err.Error(), "digest") {
		t.Errorf("got %v, want a conflict: no device waits with that digest", err)
	}
}

// The answer is on the disk before anything is done about it.
func TestAnAnswerOutlivesAKillOfMuster(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, server.Options{})
	w.template("folders.houserules", handbook)
	w.untilHave("houserules", 3)
	w.inSync(w.farm.Daemons()...)
	w.Template("remove", "folders.houserules", "true", "all")
	for g := w.groups(1)[0]; g.DeviceCount < 3; {
		g = w.groups(1)[0]
	}
	w.Kill()
	w.o.KillAt = reconcile.StepBeforeIntent
	w.Server = server.Start(t, w.o)
	var g api.HeldGroup
	wait.Until(t, func() string {
		if g = w.groups(1)[0]; g.DeviceCount < 3 {
			return fmt.Sprintf("%d devices ask after the start", g.DeviceCount)
		}
		return ""
	})
	// The answer to the request may be lost with the process.
	_, _ = w.Client.AnswerConsents(t.Context(), answerTo(g, fleet.AnswerConsent, false))
	w.WaitEnd()
	if got := count(w.farm.Daemons(), "houserules"); got != 3 {
		t.Errorf("%d devices have the folder after the kill, want 3", got)
	}
	w.restart()
	w.untilHave("houserules", 0)
	w.groups(0)
}

// Muster was killed after the write that an answer was for, and a person put the folder back before the next start: the
// answer was used a second time.
func TestAnAnswerIsUsedOnceAroundAKillOfMuster(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, server.Options{})
	d := w.farm.Daemon(0)
	w.template("folders.houserules", `{"path": "~/houserules"}`)
	w.untilHave("houserules", 1)
	w.inSync(d)
	key := stconfig.Key{}.Child("folders").Child("houserules")
	folder := stconfig.Lookup(d.Config(), key)
	w.Template("remove", "folders.houserules", "true", "all")
	w.groups(1)
	w.Kill()
	w.o.KillAt = reconcile.StepAfterWrite + "1"
	w.Server = server.Start(t, w.o)
	g := w.groups(1)[0]
	// The answer to the request may be lost with the process.
	_, _ = w.Client.AnswerConsents(t.Context(), answerTo(g, fleet.AnswerConsent, false))
	w.WaitEnd()
	w.untilHave("houserules", 0)
	if err := d.Edit(func(doc stconfig.Value) stconfig.Value {
		return stconfig.Replace(doc, key, folder)
	}); err != nil {
		t.Fatal(err)
	}
	w.restart()
	w.groups(1)
	w.untilHave("houserules", 1)
	if given := w.given(); len(given) != 1 || given[0].Intent == 0 {
		t.Errorf("the answers are %+v, want one that an intent used", given)
	}
}

// Neither the list of what waits nor the answers that were given show a secret.
func TestWhatWaitsShowsNoSecret(t *testing.T) {
	t.Parallel()
	const canary = "canary-7f3a"
	w := newWorld(t, 2, server.Options{})
	if _, _, err := w.Client.PutSecret(t.Context(), "pw", api.PutSecret{Value: text(canary)}); err != nil {
		t.Fatal(err)
	}
	w.Template("merge", "gui", `{"user": "admins", "password": "${secret:pw}", "apiKey": "`+canary+canary+canary+`"}`,
		"all")
	wait.Until(t, func() string {
		shown, err := w.Client.Consents(context.WithoutCancel(t.Context()))
		switch {
		case err != nil:
			return err.Error()
		case len(shown) < 3:
			return fmt.Sprintf("got %d groups", len(shown))
		}
		return ""
	})
	shown := string(mustJSON(w.groups(3))) + w.says("gui.apiKey", "consent", "list")
	for _, d := range w.farm.Daemons() {
		if strings.Contains(shown, canary) || strings.Contains(shown, d.APIKey()) {
			t.Errorf("got %s", shown)
		}
	}
}

// A person at the command line is told what to type next.
func TestConsentsOnTheCommandLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, server.Options{})
	w.template("folders.houserules", handbook)
	w.untilHave("houserules", 3)
	w.inSync(w.farm.Daemons()...)
	w.Template("remove", "folders.houserules", "true", "all")
	wait.Until(t, func() string {
		if g := w.groups(1)[0]; g.DeviceCount < 3 {
			return "not all ask yet"
		}
		return ""
	})
	out := w.says("On 3 devices", "consent", "list")
	_, command, found := strings.Cut(out, "To let it go out (role operator): muster ")
	if !found {
		t.Fatalf("got %s", out)
	}
	command, _, _ = strings.Cut(command, "\n")
	if out, code := w.command(strings.Fields(command)...); code != 3 || !strings.Contains(out, "Let 3 changes go out?") ||
		!strings.Contains(out, "~/houserules") {
		t.Errorf("got %d %s, want what the answer is for and a question", code, out)
	}
	w.groups(1)
	command += " --yes"
	w.says("`muster consent list --given` shows what became of it", strings.Fields(command)...)
	w.untilHave("houserules", 0)
	w.groups(0)
	w.says("Nothing waits for an answer", "consent", "list")
	w.says("used", "consent", "list", "--given")
	out, code := w.command(strings.Fields(command)...)
	if code != 3 || !strings.Contains(out, "muster consent list") {
		t.Errorf("got %d %s, want a text that says what to do", code, out)
	}
}

func mustParse(t *testing.T, text string) stconfig.Value {
	t.Helper()
	v, err := stconfig.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}
