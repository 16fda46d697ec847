package rollout_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/api"
	"muster/client"
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
		made := api.WhatIfNew{Op: text("set"), Key: text("options.maxRecvKbps"), Template: &value,
			Tags: []string{"all"}}
		return api.ApplyChanges{WhatIf: api.WhatIf{Templates: &api.WhatIfTemplates{New: []api.WhatIfNew{made}}}}
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
		w.WaitState(d.ID(), "failed", func(s api.DeviceState) bool {
			return s.Configuration == string(fleet.ConfigFailed)
		})
	}
}

// A type or a word that is wrong on every daemon is refused on save by commands, files, and the requests of the
// console: a plan, then the changes. A caller who allows it saves it with each. Nobody saves a word that is
// not in a closed list.
func TestEveryClientRefusesWhatIsWrongOnEveryDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1, server.Options{})
	for name, wrong := range map[string]struct {
		key, value, says string
		never            bool
	}{
		"type": {key: "options.maxSendKbps", value: `"500"`, says: "takes a number"},
		"unit": {key: "options.minHomeDiskFree.unit", value: `"percent"`, says: "is no unit"},
		"word": {key: "folders.x.type", value: `"sendrecieve"`, says: "did you mean sendreceive?", never: true},
	} {
		for with, save := range w.clients(name, wrong.key, wrong.value, wrong.never) {
			before := w.countTemplates()
			if out, err := save(false); err == nil || !strings.Contains(out+err.Error(), wrong.says) {
				t.Errorf("%s, %s: got %q, %v, want it refused with %q", with, name, out, err, wrong.says)
			}
			if now := w.countTemplates(); now != before {
				t.Errorf("%s, %s: refused, and there are %d templates instead of %d", with, name, now, before)
			}
			out, err := save(true)
			if saved := w.countTemplates() == before+1; (err == nil) == wrong.never || saved == wrong.never {
				t.Errorf("%s, %s, allowed: got %q, %v, saved: %t", with, name, out, err, saved)
			}
		}
	}
	// The contract's own write stores what no closed list rules out, with a warning.
	for key, value := range map[string]string{
		"options.maxSendKbps": `"500"`, "options.minHomeDiskFree.unit": `"percent"`,
	} {
		made := api.PutTemplate{Op: text("set"), Key: &key, Template: &value}
		if _, err := w.Client.CreateTemplate(t.Context(), made); err != nil {
			t.Error(err)
		}
	}
}

// clients are the ways to save a template. never says that allowFailing does not let it be saved. Each way returns its
// output, and an error when nothing was saved.
func (w *world) clients(name, key, value string, never bool) map[string]func(allow bool) (string, error) {
	run := func(allow bool, args ...string) (string, error) {
		if args = append(args, "--yes"); allow {
			args = append(args, "--allow-failing")
		}
		out, code := w.command(args...)
		if code != 0 {
			return out, fmt.Errorf("exit code %d", code)
		}
		return out, nil
	}
	text := fmt.Sprintf("# op: set\n# key: %s\n# ---\n%s\n", key, value)
	file, dir := filepath.Join(w.t.TempDir(), "put-"+name+".hjson"), w.t.TempDir()
	if err := errors.Join(os.WriteFile(file, []byte(text), 0o600), os.Mkdir(filepath.Join(dir, "templates"), 0o700),
		os.WriteFile(filepath.Join(dir, "templates", "file-"+name+".hjson"), []byte(text), 0o600)); err != nil {
		w.t.Fatal(err)
	}
	op, label := "set", "console-"+name
	body := api.WhatIf{Templates: &api.WhatIfTemplates{New: []api.WhatIfNew{{Label: &label, Op: &op, Key: &key,
		Template: &value}}}}
	return map[string]func(bool) (string, error){
		"command": func(allow bool) (string, error) { return run(allow, "template", "put", file) },
		"files":   func(allow bool) (string, error) { return run(allow, "apply", "-f", dir, "--source", name) },
		"console": func(allow bool) (string, error) {
			body.AllowFailing = allow
			_, planned := w.Client.WhatIf(w.t.Context(), body)
			_, err := w.Client.ApplyChanges(w.t.Context(), api.ApplyChanges{WhatIf: body})
			if (planned == nil) != (err == nil) {
				w.t.Errorf("console, %s: planned with %v, saved with %v", name, planned, err)
			}
			var refused *client.Error
			if errors.As(planned, &refused) && refused.Problem.AllowFailing == never {
				w.t.Errorf("console, %s: a person is asked whether to save it all the same: %t", name, !never)
			}
			return "", err
		},
	}
}

func (w *world) countTemplates() int {
	w.t.Helper()
	templates, err := w.Client.Templates(w.t.Context(), client.List{})
	if err != nil {
		w.t.Fatal(err)
	}
	return len(templates)
}
