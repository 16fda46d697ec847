package rollout_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
	"muster/test/server"
	"muster/test/wait"
)

// `maxSendKbps: "500"` was saved with exit code 0, and all devices of the tag stopped.
func TestWhatIsCertainToFailIsNotSaved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 3, server.Options{})
	w.template("options.maxSendKbps", "400")
	w.inSync(w.farm.Daemons()...)
	body := func(value string) api.ApplyChanges {
		return api.ApplyChanges{WhatIf: api.WhatIf{Templates: &api.WhatIfTemplates{New: []api.WhatIfNew{{Op: text("set"),
			Key: text("options.maxRecvKbps"), Template: &value, Tags: []string{"all"}}}}}}
	}
	wait.Until(t, func() string { // nothing is foretold of a device whose configuration was not stored yet
		made, err := w.Client.WhatIf(t.Context(), body("500").WhatIf)
		if err != nil || made.Touched.Unread > 0 || made.Touched.Devices < 3 {
			return fmt.Sprintf("got %+v, %v", made, err)
		}
		return ""
	})
	refuses := func(change api.ApplyChanges, says string) {
		t.Helper()
		_, err := w.Client.ApplyChanges(t.Context(), change)
		if fleet.CodeOf(err) != fleet.CodeInvalid || !strings.Contains(err.Error(), says) {
			t.Errorf("got %v, want it refused with %q", err, says)
		}
	}
	wrongType := body(`"500"`)
	refuses(wrongType, "takes a number")
	wrongType.AllowFailing = true
	refuses(wrongType, "takes a number") // The schema knows it to be wrong on every device.
	program := body("def template(device): return 'five' + device.label[:0]")
	refuses(program, "options.maxRecvKbps")
	for _, d := range w.farm.Daemons() {
		_, err := w.Client.ApplyChanges(t.Context(), program)
		if label := d.Name(); err == nil || !strings.Contains(err.Error(), label) {
			t.Errorf("got %v, which does not name %s", err, label)
		}
	}
	w.inSync(w.farm.Daemons()...)

	dir := t.TempDir()
	file := filepath.Join(dir, "change.json")
	if err := os.WriteFile(
		file,
		[]byte(`{"templates": {"new": [{"op": "set", "key": "options.maxRecvKbps", "template": "500",
		"tags": ["all"]}]}}`),
		0o600,
	); err != nil {
		t.Fatal(err)
	}
	if out, code := w.command("plan", "-f", file); code != 5 {
		t.Errorf("got %d for a file that changes something: %s", code, out)
	}
	if err := os.WriteFile(file, []byte(`{}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, code := w.command("plan", "-f", file); code != 0 {
		t.Errorf("got %d for a file that changes nothing: %s", code, out)
	}

	program.AllowFailing = true
	if _, err := w.Client.ApplyChanges(t.Context(), program); err != nil {
		t.Fatal(err)
	}
	for _, d := range w.farm.Daemons() {
		w.WaitState(d.ID(), "failed", func(s api.DeviceState) bool { return s.Configuration == string(fleet.ConfigFailed) })
	}
}
