package writer_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/core/plan"
	"muster/internal/fleet"
	"muster/test/server"
	"muster/test/wait"
)

// randomTemplates are random templates that come and go.
type randomTemplates struct {
	t         *testing.T
	s         *server.Server
	r         *rand.Rand
	templates []int64
}

// shuffle takes some templates away and makes some new ones.
func (w *randomTemplates) shuffle() {
	w.t.Helper()
	w.templates = slices.DeleteFunc(w.templates, func(id int64) bool {
		if w.r.IntN(2) == 0 {
			return false
		}
		if err := w.s.Client.DeleteTemplate(w.t.Context(), id); err != nil {
			w.t.Fatal(err)
		}
		return true
	})
	for range 1 + w.r.IntN(3) {
		label, priority := fmt.Sprint(len(w.templates)), int64(w.r.IntN(100))
		op, key, text := randomTemplate(w.r)
		made, err := w.s.Client.CreateTemplate(w.t.Context(), api.PutTemplate{Label: &label, Priority: &priority, Op: &op,
			Key: &key, Template: &text})
		if err != nil {
			w.t.Fatalf("%s %s %s: %v", op, key, text, err)
		}
		if _, err := w.s.Client.TagTemplate(w.t.Context(), made.ID, "t"); err != nil {
			w.t.Fatal(err)
		}
		w.templates = append(w.templates, made.ID)
	}
}

// plan is the device's, once it is admitted to all that was changed. Templates that contradict one another give none:
// then others are tried.
func (w *randomTemplates) plan(id fleet.DeviceID) (made api.Plan) {
	w.t.Helper()
	wait.Until(w.t, func() string {
		var err error
		made, err = w.s.Client.DevicePlan(w.t.Context(), string(id))
		if fleet.CodeOf(err) == fleet.CodeInvalid {
			w.shuffle()
		}
		if err != nil {
			return err.Error()
		}
		overview, err := w.s.Client.Overview(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		if made.Generation != overview.Generation {
			return fmt.Sprintf("the plan is of generation %d, the newest is %d", made.Generation, overview.Generation)
		}
		return ""
	})
	return made
}

// atRest waits until nothing more is to be sent. The state alone may say held all the time.
func (w *randomTemplates) atRest(id fleet.DeviceID) {
	w.t.Helper()
	wait.Until(w.t, func() string {
		made, err := w.s.Client.DevicePlan(w.t.Context(), string(id))
		if err != nil {
			return err.Error()
		}
		if i := slices.IndexFunc(made.Changes, isFree); i >= 0 {
			return made.Changes[i].Key + " is still to be sent"
		}
		return ""
	})
	w.s.WaitState(id, "at rest", func(state api.DeviceState) bool {
		switch fleet.Configuration(state.Configuration) {
		case fleet.ConfigInSync, fleet.ConfigHeld, fleet.ConfigUnmanaged:
			return state.Connection == string(fleet.Online)
		}
		return false
	})
}

// heldKeys picks some of what is held.
func (w *randomTemplates) heldKeys(id fleet.DeviceID) (api.Plan, []string) {
	w.t.Helper()
	made := w.plan(id)
	var keys []string
	for _, c := range made.Changes {
		if c.Class == string(plan.Held) && w.r.IntN(2) == 0 {
			keys = append(keys, c.Key)
		}
	}
	return made, keys
}

// randomTemplate says something about a folder, a device, a share, the options or the defaults. None of it lets the
// daemon reach out, and none is an error.
func randomTemplate(r *rand.Rand) (op, key, text string) {
	n := 10 + r.IntN(90)
	folder := []string{"here", "new-1", "new-2", `"with/slash"`, "*"}[r.IntN(5)]
	id := strings.Trim(folder, `"*`)
	if id == "" {
		id = "new-3"
	}
	peer := []string{peerA, peerB, peerC}[r.IntN(3)]
	flag := fmt.Sprint(r.IntN(2) == 0)
	quoted := func(v any) string { b, _ := json.Marshal(v); return string(b) }
	all := [][3]string{
		{"set", "options.maxSendKbps", fmt.Sprint(n)},
		{"set", "OPTIONS.limitBandwidthInLan", flag},
		{"merge", "options", fmt.Sprintf(`{maxRecvKbps: %d, minHomeDiskFree: {value: %d}}`, n, n)},
		{"set", "options.minHomeDiskFree", fmt.Sprintf(`{value: %d, unit: "kB"}`, n)},
		{"append", "options.alwaysLocalNets", fmt.Sprintf(`["10.%d.0.0/16"]`, n)},
		{"set", "options.unackedNotificationIDs", fmt.Sprintf(`["note %d"]`, n)},
		{"merge", "", fmt.Sprintf(`{options: {progressUpdateIntervalS: %d}, defaults: {folder: {maxConflicts: %d}}}`, n, n)},
		{"merge", "defaults.folder", fmt.Sprintf(`{rescanIntervalS: %d, minDiskFree: {value: %d}}`, n, n)},
		{"merge", "defaults.device", fmt.Sprintf(`{maxSendKbps: %d}`, n)},
		{"merge", "folders", fmt.Sprintf(`[{id: %q, path: "~/%s", paused: true, rescanIntervalS: %d}]`, id,
			strings.ReplaceAll(id, "/", "-"), n)},
		{"merge", "folders", fmt.Sprintf(`[{"id": %q, "path": "~/%s", "paused": true, "devices": [{"deviceID": %q}]}]`, id,
			strings.ReplaceAll(id, "/", "-"), peerA)},
		{"set", "folders." + folder + ".rescanIntervalS", fmt.Sprint(n)},
		{"set", "folders." + folder + ".label", quoted(fmt.Sprint("label ", n))},
		{"merge", "folders." + folder + ".minDiskFree", fmt.Sprintf(`{value: %d}`, n)},
		{"merge", "folders." + folder + ".versioning", fmt.Sprintf(`{type: "simple", params: {keep: "%d"}}`, n)},
		{"merge", "folders." + folder + ".versioning.params", fmt.Sprintf(`{extra%d: "%d"}`, n%3, n)},
		{"remove", "folders." + folder + ".versioning.params.keep", `true`},
		{"append", "folders." + folder + ".devices", fmt.Sprintf(`[{deviceID: %q}]`, peerA)},
		{"remove", "folders." + folder + ".devices", quoted([]string{peer})},
		{"set", "folders." + folder + ".type", quoted([]string{"sendreceive", "receiveonly", "sendonly"}[n%3])},
		{"remove", "folders." + folder, `true`},
		{"merge", "devices", fmt.Sprintf(`[{deviceID: %q, name: "peer %d", addresses: ["dynamic", "tcp://127.0.0.1:%d"]}]`,
			peer, n, n)},
		{"set", "devices." + peer + ".compression", quoted([]string{"always", "never", "metadata"}[n%3])},
		{"set", "devices.*.maxRecvKbps", fmt.Sprint(n)},
		{"append", "devices." + peer + ".allowedNetworks", fmt.Sprintf(`["10.%d.0.0/16"]`, n)},
		{"set", "devices." + peer + ".introducer", flag},
		{"remove", "devices", quoted([]string{peer})},
	}
	picked := all[r.IntN(len(all))]
	return picked[0], picked[1], picked[2]
}
