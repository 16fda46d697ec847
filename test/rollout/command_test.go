package rollout_test

import (
	"strings"
	"testing"

	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/wait"
)

// says runs a client command that has to succeed, and checks what it prints.
func (w *world) says(want string, args ...string) string {
	w.t.Helper()
	out, code := w.command(args...)
	if code != 0 || !strings.Contains(out, want) {
		w.t.Fatalf("muster %s ended with %d: %s\nwant %q", strings.Join(args, " "), code, out, want)
	}
	return out
}

func TestRolloutsAreShownAndSteeredFromTheCommandLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 12, server.Options{})
	if out := w.says("ID", "rollout", "list"); strings.Count(out, "\n") != 1 {
		t.Errorf("got %s, want no rollout", out)
	}
	w.template("folders.new", broken)
	w.comesTo(fleet.RolloutHalted)
	w.says("halted", "rollout", "list")
	out := w.says("Rollout 1 is halted", "rollout", "show", "1")
	if !strings.Contains(out, "1 failed, 11 later") || !strings.Contains(out, "`muster rollout undo 1` makes") ||
		strings.Contains(out, "  later") {
		t.Errorf("got %s", out)
	}
	for _, d := range w.farm.Daemons() {
		if strings.Contains(out, string(d.ID())) {
			t.Errorf("got %s with a whole device ID, although its label is known", out)
		}
	}
	if all := w.says("wave 3", "rollout", "show", "1", "--all"); strings.Count(all, "  later") != 11 {
		t.Errorf("got %s", all)
	}
	if out, code := w.command("rollout", "pause", "1"); code != 3 || !strings.Contains(out, "halted") {
		t.Errorf("pause of a halted one ended with %d: %s", code, out)
	}
	if out, code := w.command("rollout", "show", "99"); code != 3 {
		t.Errorf("show of none ended with %d: %s", code, out)
	}
	if out := w.says("Rollout 1 is halted", "rollout", "show", "1"); !strings.Contains(out,
		"merge folders.new, priority 0: ") || !strings.Contains(out, "+ tag all of template 1") {
		t.Errorf("got %s without what it changes", out)
	}
	if out, code := w.command("rollout", "undo", "1"); code != 3 || !strings.Contains(out,
		"It gives back 1 template and 1 tagging, and takes what it brought off 1 device.") ||
		!strings.Contains(out, "nothing was changed") {
		t.Errorf("an undo without an answer ended with %d: %s", code, out)
	}
	w.says("Rollout 1 is halted", "rollout", "show", "1")
	w.says("Rollout 1 is undone", "rollout", "undo", "1", "--yes")
	w.isUndone(1)
	if out, code := w.command("rollout", "undo", "2", "-y"); code != 3 || !strings.Contains(out, "Save the templates") {
		t.Errorf("the undo of an undo ended with %d: %s", code, out)
	}
	everyOne(t, w.farm.Daemons(), "without the folder", func(d *stsim.Daemon) bool { return folderPath(d) == "" })
}

func TestConsentIsGivenFromTheCommandLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 12, server.Options{})
	w.template("gui", `{"insecureSkipHostcheck": true}`)
	var out string
	wait.Until(t, func() string {
		if out, _ = w.command("consent", "list"); !strings.Contains(out, "--rollout 1") {
			return out
		}
		return ""
	})
	w.says("is paused", "rollout", "pause", "1")
	w.says("is running", "rollout", "resume", "1")
	_, command, _ := strings.Cut(out, "muster consent ")
	command, _, _ = strings.Cut(command, "\n")
	w.says(
		"11 of them were not shown",
		append([]string{"consent", "--rollout", "1", "--yes"}, strings.Fields(command)...)...)
	w.comesTo(fleet.RolloutSucceeded)
	everyOne(t, w.farm.Daemons(), "changed",
		func(d *stsim.Daemon) bool { return d.Config().Get("gui").Get("insecureSkipHostcheck").IsTrue() })
	w.says("Rollout 1 is succeeded", "rollout", "show", "1")
	w.says("Nothing waits", "consent", "list")
}
