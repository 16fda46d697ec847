package cli

import (
	"strings"
	"testing"
)

func TestHintsOfTheServerNameCommands(t *testing.T) {
	const id = "MZJU2GB-VHZXVXF-6OWRI3X-KYSAOIQ-5PVYMDQ-X4H6UMB-4BTKYQC-RLTFLQD"
	for hint, want := range map[string]string{
		"GET /api/v1/devices/" + id + "/plan, look at it, and apply that one.": "`muster apply MZJU2GB`, look at it, " +
			"and apply that one.",
		"Its state says why: GET devices/{id}/state.": "Its state says why: `muster status DEVICE`.",
		"GET /api/v1/devices/" + id + "/trust, compare it with the daemon's own, and trust that one.": "`muster device " +
			"trust MZJU2GB`, compare it with the daemon's own, and trust that one.",
		"GET /api/v1/rollouts lists all.": "`muster rollout list` lists all.",
		"GET /api/v1/devices lists all; PUT registers one.": "`muster status --all` lists all; " +
			"`muster enroll` registers one.",
	} {
		if got := withCommands(hint); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// It was "unexpected argument consent".
func TestTheCommandThatIsGoneNamesTheOneThatDoesIt(t *testing.T) {
	for _, args := range [][]string{{"rollout", "consent"}, {"rollout", "consent", "7", "--key", "folders.a"}} {
		code, _, errs := run(t, args...)
		if code != exitRefused || !strings.Contains(errs, "`muster consents`") || !strings.Contains(errs, "--rollout") {
			t.Errorf("%q: got %d %s", args, code, errs)
		}
	}
}
