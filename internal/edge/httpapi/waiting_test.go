package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/internal/fleet"
)

// group is the one group of a cause.
func group(t *testing.T, all api.Waiting, cause string) api.WaitingGroup {
	t.Helper()
	var found []api.WaitingGroup
	for _, g := range all.Groups {
		if g.Cause == cause {
			found = append(found, g)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d groups wait because of %s, want 1: %+v", len(found), cause, all.Groups)
	}
	return found[0]
}

func action(t *testing.T, g api.WaitingGroup, name string) api.WaitingAction {
	t.Helper()
	i := slices.IndexFunc(g.Actions, func(a api.WaitingAction) bool { return a.Name == name })
	if i < 0 {
		t.Fatalf("%s has no action %s: %+v", g.Cause, name, g.Actions)
	}
	return g.Actions[i]
}

// request is an action for a device, as a page sends it.
func (w *stocked) request(a api.WaitingAction, d api.WaitingDevice, answers ...string) call {
	path, body := a.Path, ""
	if string(a.Body) != "null" {
		body = string(a.Body)
	}
	for i := 0; i+1 < len(answers); i += 2 { // What a person answers counts before what was proposed.
		body = strings.ReplaceAll(body, "{"+answers[i]+"}", answers[i+1])
	}
	for name, value := range d.Values {
		path = strings.ReplaceAll(path, "{"+name+"}", value)
		body = strings.ReplaceAll(body, "{"+name+"}", value)
	}
	return call{method: a.Method, path: path, body: body, role: fleet.Role(a.Role)}
}

func (w *stocked) waiting() api.Waiting {
	w.t.Helper()
	return read[api.Waiting](w.world, Prefix+"/waiting")
}

func TestNothingWaitsInAFleetWhereAllIsWell(t *testing.T) {
	w := newStocked(t)
	w.stand(idA, "one", fleet.State{Connection: fleet.Online, Configuration: fleet.ConfigInSync}, fleet.Snapshot{})
	if got := w.get(Prefix + "/waiting"); got != `{"groups":[],"devices":0}` {
		t.Errorf("got %s", got)
	}
}

func TestFailuresOfOneCauseWaitTogether(t *testing.T) {
	w := newStocked(t)
	long := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	for i, reason := range []string{"template 3 fails", "template 3 fails", "the disk is full"} {
		w.stand(fleet.DeviceIDOf([32]byte{byte(i + 1)}), fmt.Sprint("device ", i), fleet.State{Connection: fleet.Online,
			Configuration: fleet.ConfigFailed, Reason: reason, Next: "Mend it.",
			Since: long.Add(time.Duration(-i) * time.Minute)},
			fleet.Snapshot{})
	}
	got := w.waiting()
	if len(got.Groups) != 2 || got.Devices != 3 {
		t.Fatalf("got %+v", got)
	}
	first := got.Groups[0]
	if first.Reason != "template 3 fails" || first.Next != "Mend it." || first.DeviceCount != 2 ||
		first.Severity != string(fleet.Critical) ||
		first.Devices[0].Label != "device 0" ||
		!first.Since.Equal(long.Add(-time.Minute)) {
		t.Errorf("got %+v since %v", first, first.Since)
	}
}

func TestHeldChangesWaitWithTheRequestsThatAnswerThem(t *testing.T) {
	w := newStocked(t)
	asked := &consents{groups: []fleet.HeldGroup{
		{Digest: "aaabbbcccdddeee", Key: "folders.p", Consent: true, Keep: true, Removes: true, Rollout: 7,
			Templates: []int64{2}, Changes: []fleet.HeldChange{{Device: idA, Digest: "a1", Key: "folders.p",
				From: []byte(`{"id":"p"}`), To: []byte("null"), Reason: "it goes"}}},
		{Digest: "never", Key: "gui.enabled", Changes: []fleet.HeldChange{{Device: idB, Digest: "b1", Key: "gui.enabled",
			From: []byte("true"), To: []byte("false"), Reason: "no way"}}},
	}}
	w.hold(asked)
	held := fleet.State{Connection: fleet.Online, Configuration: fleet.ConfigHeld, Reason: "waits"}
	for _, id := range []fleet.DeviceID{idA, idB, idC} {
		w.stand(id, string(id.Short()), held, fleet.Snapshot{})
	}
	got := w.waiting()
	if len(got.Groups) != 3 || got.Devices != 3 {
		t.Fatalf("two groups and a device that is in none: %+v", got)
	}
	at := slices.IndexFunc(got.Groups, func(g api.WaitingGroup) bool { return g.Subject == "folders.p" })
	g := got.Groups[at]
	if string(g.From) != `{"id":"p"}` || string(g.To) != "null" || g.Rollout != 7 ||
		!slices.Equal(g.Templates, []int64{2}) ||
		g.DeviceCount != 1 ||
		g.Reason != "it goes" || len(g.Devices[0].Held) != 1 || g.Devices[0].Held[0].Digest != "a1" {
		t.Errorf("got %+v", g)
	}
	for name, command := range map[string]string{"consent": "muster consent aaabbbcccddd",
		"keep": "muster consent aaabbbcccddd --keep", "consentRollout": "muster consent aaabbbcccddd --rollout 7",
		"keepRollout": "muster consent aaabbbcccddd --rollout 7 --keep"} {
		a := action(t, g, name)
		if a.Removes != strings.HasPrefix(name, "consent") || a.Role != "operator" || a.Each || !a.Shown ||
			a.Command != command {
			t.Errorf("got %+v", a)
		}
		w.problem(http.StatusUnprocessableEntity, w.request(a, g.Devices[0])) // nothing was shown
		var body api.AnswerConsents
		if err := json.Unmarshal(a.Body, &body); err != nil {
			t.Fatal(err)
		}
		body.Shown = []api.ShownChange{{DeviceID: g.Devices[0].DeviceID, Digest: g.Devices[0].Held[0].Digest}}
		a.Body, _ = json.Marshal(body)
		w.want(http.StatusOK, w.request(a, g.Devices[0]))
		given := asked.answered[len(asked.answered)-1]
		if given.Digest != "aaabbbcccdddeee" || (given.WholeRollout == 7) != strings.HasSuffix(name, "Rollout") ||
			!strings.HasPrefix(name, string(given.Answer)) {
			t.Errorf("%s answered %+v", name, given)
		}
	}
	if first := g.Actions[0]; first.Name != "consent" {
		t.Errorf("the usual answer is %+v, want the one for what is shown", first)
	}
}

func TestPinChangesWaitInOneGroupWithEachFingerprint(t *testing.T) {
	w := newStocked(t)
	renewed := "sha256:" + strings.Repeat("bb", 32)
	w.with(func(o *setup) {
		o.Trust = &trusting{Store: w.store, shown: fleet.Shown{Certificate: fleet.Certificate{Fingerprint: renewed},
			Address: "10.0.0.9:8384"}}
	})
	for i, id := range []fleet.DeviceID{idA, idB} {
		w.stand(id, fmt.Sprint("d", i), fleet.State{Connection: fleet.PinMismatch, Configuration: fleet.ConfigUnknown,
			Reason: fmt.Sprintf("10.0.0.%d shows another certificate", i)}, fleet.Snapshot{})
	}
	g := group(t, w.waiting(), "pinMismatch")
	if g.DeviceCount != 2 || g.Severity != string(fleet.Critical) ||
		g.Reason != fleet.WaitTexts[fleet.WaitPinMismatch].Reason ||
		!strings.Contains(g.Devices[0].Detail, renewed+" at 10.0.0.9:8384") {
		t.Errorf("got %+v", g)
	}
	trust := action(t, g, "trust")
	if !trust.Each || trust.Role != "admin" || len(trust.Ask) != 0 {
		t.Errorf("got %+v", trust)
	}
	w.want(http.StatusOK, w.request(trust, g.Devices[0]))
	registry, err := w.store.Registry(t.Context())
	if err != nil || registry.Devices[idA].Settings.Pin != renewed {
		t.Errorf("the action did not trust the certificate: %v", err)
	}
}

func TestWhatAsksToBeLetInWaitsByAsker(t *testing.T) {
	w := newStocked(t)
	all := []fleet.Pending{
		{Device: idA, From: idC, Name: "new", Address: "192.0.2.7:22000"},
		{Device: idB, From: idC, Name: "new"},
		{Device: idA, From: idB, Folder: "p", FolderLabel: "Photos"},
		{Device: idC, From: idA},
	}
	inbox := &pendings{all: all}
	w.with(func(o *setup) { o.Pending = inbox })
	for _, id := range []fleet.DeviceID{idA, idB} {
		asks := slices.DeleteFunc(slices.Clone(all), func(p fleet.Pending) bool { return p.Device != id })
		w.stand(id, "l"+id.Short(), fleet.State{Connection: fleet.Online}, fleet.Snapshot{Pending: asks})
	}
	got := w.waiting()
	if len(got.Groups) != 2 || got.Devices != 2 {
		t.Fatalf("got %+v", got)
	}
	device, folder := group(t, got, "pendingDevice"), group(t, got, "pendingFolder")
	if device.DeviceCount != 2 || device.Subject != idC.Name("new") || folder.Subject != "Photos (p)" {
		t.Errorf("got %+v and %+v", device, folder)
	}
	w.want(http.StatusNoContent, w.request(action(t, device, "accept"), device.Devices[0]))
	w.want(http.StatusNoContent, w.request(action(t, device, "dismiss"), device.Devices[1]))
	accept := action(t, folder, "accept")
	if !slices.Equal(accept.Ask, []string{"path"}) || folder.Devices[0].Values["path"] != "~/Sync/p" {
		t.Errorf("a folder is accepted without a place: %+v", accept)
	}
	w.want(http.StatusNoContent, w.request(accept, folder.Devices[0], "path", "/srv/p"))
	if len(inbox.done) != 3 || !strings.HasSuffix(inbox.done[2], "p  /srv/p") {
		t.Errorf("the actions did %q", inbox.done)
	}
}

func TestDevicesThatAskToBeAcceptedWaitByAddress(t *testing.T) {
	w := newStocked(t)
	w.arrive(idA, nil)
	w.arrive(idC, func(a *fleet.Arrival) { a.Address = "198.51.100.1" })
	got := w.waiting()
	if len(got.Groups) != 2 || got.Devices != 0 {
		t.Fatalf("got %+v", got)
	}
	for _, g := range got.Groups {
		if g.Cause != "enrollment" || g.DeviceCount != 1 || g.Devices[0].Detail != "laptop, linux/amd64" ||
			!strings.HasPrefix(g.Subject, "from 1") {
			t.Errorf("got %+v", g)
		}
	}
	w.want(http.StatusCreated, w.request(action(t, got.Groups[0], "accept"), got.Groups[0].Devices[0]))
	w.want(http.StatusNoContent, w.request(action(t, got.Groups[1], "dismiss"), got.Groups[1].Devices[0]))
	if got := w.waiting(); len(got.Groups) != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestRolloutsStopsAndTroubleOfTheServiceWait(t *testing.T) {
	w := newStocked(t)
	_, f := rolling(t)
	f.all[0].Approval = &fleet.Approval{Reason: "it is for 300 devices"}
	w.notified = told
	w.roll(f)
	w.with(func(o *setup) {
		o.Health = impaired{{Part: fleet.PartBackup, Reason: "the disk is full", Next: "Make room."},
			{Part: fleet.PartDatabase, Blocking: true, Reason: "it does not answer"}}
	})
	for _, id := range []fleet.DeviceID{idA, idC} {
		w.stand(id, "l"+id.Short(), fleet.State{Connection: fleet.Online}, fleet.Snapshot{})
	}
	w.tag(idA, "lima")
	w.put(Prefix+"/tags/lima/settings", `{"mode":"observe"}`)
	w.put(Prefix+"/configurator", `{"mode":"observe"}`)
	w.put(Prefix+"/devices/"+string(idC)+"/settings", `{"mode":"paused"}`)
	got := w.waiting()
	halted, approval := group(t, got, "rolloutHalted"), group(t, got, "rolloutApproval")
	if halted.Rollout != 2 || halted.DeviceCount != 1 || halted.Severity != string(fleet.Critical) ||
		approval.Rollout != 3 {
		t.Errorf("got %+v and %+v", halted, approval)
	}
	w.want(http.StatusOK, w.request(action(t, halted, "undo"), api.WaitingDevice{}))
	w.want(http.StatusOK, w.request(action(t, approval, "approve"), api.WaitingDevice{}))
	if !slices.Equal(f.calls, []string{"undo by author", "approve by admin"}) {
		t.Errorf("the actions did %q", f.calls)
	}
	if g := group(t, got, "receiver"); g.Subject != "hook" || g.Since == nil {
		t.Errorf("got %+v", g)
	}
	severity := map[string]string{}
	stops := 0
	for _, g := range got.Groups {
		switch g.Cause {
		case "impairment":
			severity[g.Subject] = g.Severity
		case "stop":
			stops++
			device := api.WaitingDevice{}
			if g.Actions[0].Each {
				device = g.Devices[0]
			}
			w.want(http.StatusOK, w.request(g.Actions[0], device))
		}
	}
	if severity["backup"] != string(fleet.Warning) || severity["database"] != string(fleet.Critical) || stops != 3 {
		t.Errorf("impairments %v, %d stops", severity, stops)
	}
	for _, g := range w.waiting().Groups {
		if g.Cause == "stop" {
			t.Errorf("its own action did not end %+v", g)
		}
	}
}

func TestAGroupOfManyDevicesIsShownWholeWhenItIsAskedFor(t *testing.T) {
	w := newStocked(t)
	for i := range firstWaiting + 3 {
		w.stand(fleet.DeviceIDOf([32]byte{9, byte(i)}), fmt.Sprintf("d%02d", i), fleet.State{Connection: fleet.KeyRefused,
			Reason: fmt.Sprint("port ", i)}, fleet.Snapshot{})
	}
	w.stand(idA, "other", fleet.State{Connection: fleet.IdentityMismatch}, fleet.Snapshot{})
	g := group(t, w.waiting(), "keyRefused")
	if g.DeviceCount != firstWaiting+3 || len(g.Devices) != firstWaiting || g.Devices[0].Label != "d00" {
		t.Fatalf("got %+v", g)
	}
	one := read[api.Waiting](w.world, Prefix+"/waiting?group="+g.ID)
	if len(one.Groups) != 1 || len(one.Groups[0].Devices) != firstWaiting+3 || one.Devices != firstWaiting+4 {
		t.Errorf("got %+v", one)
	}
}

func TestATagInACommandIsQuoted(t *testing.T) {
	w := newStocked(t)
	w.put(Prefix+"/tags/"+"%24%28reboot%29'"+"/settings", `{"mode":"observe"}`)
	g := group(t, w.waiting(), "stop")
	if got := action(t, g, "on").Command; got != `muster resume --tag '$(reboot)'\'''` {
		t.Errorf("got %s", got)
	}
}

func TestEveryActionOfADeviceIsWhole(t *testing.T) {
	for _, a := range []api.WaitingAction{trustShown, applyPlan} {
		if !json.Valid(a.Body) || a.Command == "" || a.Role == "" {
			t.Errorf("%+v", a)
		}
	}
}
