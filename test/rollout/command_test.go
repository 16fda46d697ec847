package rollout_test

import (
	"strings"
	"testing"

	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
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
	w := newWorld(t, 12, server.Options{})
	if out := w.says("ID", "rollout", "list"); strings.Count(out, "\n") != 1 {
		t.Errorf("got %s, want no rollout", out)
	}
	w.template("folders.new", broken)
	w.comesTo(fleet.RolloutHalted)
	w.says("halted", "rollout", "list")
	out := w.says("Rollout 1 is halted", "rollout", "show", "1")
	if !strings.Contains(out, "1 failed, 11 later") || !strings.Contains(out, "Undo it") || strings.Contains(out, "  later") {
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
	w.says("Rollout 1 is und", "rollout", "undo", "1")
	w.comesTo(fleet.RolloutUndone)
	everyOne(t, w.farm.Daemons(), "without the folder", func(d *stsim.Daemon) bool { return folderPath(d) == "" })
}

func TestConsentIsGivenFromTheCommandLine(t *testing.T) {
	w := newWorld(t, 12, server.Options{})
	w.template("gui", `{"insecureSkipHostcheck": true}`)
	server.Until(t, func() string {
		r := w.newest()
		for _, m := range r.Members {
			if m.State == string(fleet.MemberHeld) {
				return ""
			}
		}
		return "nobody waits"
	})
	w.says("is paused", "rollout", "pause", "1")
	w.says("is running", "rollout", "resume", "1")
	if out, code := w.command("rollout", "consent", "1", "--consent", "gui.insecureSkipHostcheck"); code != 3 || !strings.Contains(out, "digest") {
		t.Errorf("without a digest it ended with %d: %s", code, out)
	}
	var out string
	server.Until(t, func() string { // after a resume everybody is looked at anew
		var code int
		if out, code = w.command("rollout", "consent", "1"); code != 0 || !strings.Contains(out, "--consent") {
			return out
		}
		return ""
	})
	if !strings.Contains(out, "held: ") {
		t.Errorf("got %s, want what waits and why", out)
	}
	_, command, _ := strings.Cut(out, "muster rollout consent 1 ")
	args := strings.Fields(strings.ReplaceAll(command, "'", ""))
	w.says("Answered for 1 device", append([]string{"rollout", "consent", "1"}, args...)...)
	r := w.comesTo(fleet.RolloutSucceeded)
	if len(r.Consents) != 1 {
		t.Errorf("got %+v", r.Consents)
	}
	everyOne(t, w.farm.Daemons(), "changed", func(d *stsim.Daemon) bool { return d.Config().Get("gui").Get("insecureSkipHostcheck").IsTrue() })
	w.says("Rollout 1 is succeeded", "rollout", "show", "1")
	w.says("None of its devices waits", "rollout", "consent", "1")
}
