package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

// run is what a shell sees of a command.
func run(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = Run(t.Context(), args, Streams{In: strings.NewReader(""), Out: &stdout, Err: &stderr}, "test")
	return code, stdout.String(), stderr.String()
}

func TestAnErrorIsSaidOnceWithItsPlaceAndWhatToDo(t *testing.T) {
	local := &fleet.Error{Code: fleet.CodeInvalid, Message: "two things are wrong", Hint: "Mend them.",
		Details: []fleet.Detail{
			{Field: "a", Message: "a is wrong"}, {Field: "template", Line: 3, Column: 7, Message: "unexpected end"},
		}}
	answer := &client.Error{Status: http.StatusUnprocessableEntity, Problem: api.Problem{
		Detail: "unexpected end", Hint: "Mend it.", Traceback: "Traceback: line 3",
		Errors: []api.ProblemDetail{{Field: "template", Line: 3, Column: 7, Message: "unexpected end"}},
	}}
	for name, test := range map[string]struct {
		err  error
		code int
		want string
	}{
		"nothing":     {nil, exitDone, ""},
		"interrupted": {fmt.Errorf("wait: %w", context.Canceled), exitInterrupted, ""},
		"a bug":       {errors.New("oops"), exitFailed, "muster: oops\n"},
		"one field":   {fleet.Invalidf("tag", "a tag may not be empty"), exitUsage, "muster: a tag may not be empty\n"},
		"two places": {local, exitUsage,
			"muster: two things are wrong\n  a: a is wrong\n  template line 3, column 7: unexpected end\nMend them.\n"},
		"an answer": {answer, exitRefused,
			"muster: unexpected end (template line 3, column 7)\nTraceback: line 3\nMend it.\n"},
		"a wrong token": {&client.Error{Status: http.StatusUnauthorized,
			Problem: api.Problem{Detail: "not known", Hint: "Send a header."}}, exitRefused,
			"muster: not known\n" + howToGiveAToken + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if code := explain(&out, test.err); code != test.code || out.String() != test.want {
				t.Errorf("got %d and\n%swant %d and\n%s", code, out.String(), test.code, test.want)
			}
		})
	}
}

func TestServeRefusesFlagsThatMakeNoSense(t *testing.T) {
	home := t.TempDir()
	file := filepath.Join(home, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{
		{"--home="}, {"--demo=-1"}, {"--keep-revisions=0"}, {"--keep-for=0s"}, {"--keep-events=0s"}, {"--keep-audit=1h"},
		{"--soak=-1s"},
		{"--notify-after=-1s"}, {"--tls-cert", file}, {"--tls-key", file},
		{"--tls=off", "--tls-cert", file, "--tls-key", file},
		{"--smtp=mail.example"}, {"--notify-mail-from=a@example.org"}, {"--allow-host=http://name"},
		{"--allow-host=name:2525"}, {"--trust-proxy=name"}, {"--session-idle=0s"}, {"--session-life=-1h"},
	} {
		before := flags[0]
		if strings.HasPrefix(before, "--home") {
			before = "--log-level=info"
		} else {
			before = "--home=" + home
		}
		code, out, errs := run(t, append([]string{"serve", before}, flags...)...)
		if lines := strings.Count(errs, "\n"); code != exitUsage || out != "" || lines != 2 {
			t.Errorf("%v: got %d and\n%s%swant a line that says what is wrong and one that says what to do", flags, code, out,
				errs)
		}
	}
	left, err := os.ReadDir(home)
	if err != nil || len(left) != 1 {
		t.Errorf("got %v, %v: something was made before the flags were looked at", left, err)
	}
}

func TestEveryCommandExplainsItselfAndItsFlags(t *testing.T) {
	for _, command := range []string{
		"", "serve", "enroll", "plan", "status", "apply", "token create", "token list",
		"token rotate", "token delete", "tag protect", "tag unprotect", "stop", "resume",
		"rollout list", "rollout show",
		"rollout approve", "rollout waves", "consent list", "consent", "pending accept", "secret put", "sim", "version",
	} {
		code, out, errs := run(t, append(strings.Fields(command), "--help")...)
		if code != exitDone || errs != "" || !strings.HasPrefix(out, "Usage: muster "+command) {
			t.Errorf("%q: got %d\n%s%s", command, code, out, errs)
		}
		if strings.Contains(out, "=STRING") {
			t.Errorf("%q: a flag does not say what it takes:\n%s", command, out)
		}
	}
	if code, _, errs := run(t, "enrol"); code != exitUsage || !strings.Contains(errs, "--help") {
		t.Errorf("got %d %s", code, errs)
	}
}

func TestNothingIsSimulatedForNoDaemon(t *testing.T) {
	if code, out, errs := run(t, "sim", "--count=0"); code != exitUsage || out != "" || errs == "" {
		t.Errorf("got %d %s %s", code, out, errs)
	}
}

func TestASecretThatCannotBeReadSaysWhatToDo(t *testing.T) {
	for name, flags := range map[string][]string{"empty": nil, "absent": {"--file",
		filepath.Join(t.TempDir(), "absent")}} {
		code, _, errs := run(t, append([]string{"secret", "put", "x", "--token", "x", "--server", "http://127.0.0.1:1"},
			flags...)...)
		if !refuses(code) || strings.Count(errs, "\n") != 2 {
			t.Errorf("%s: got %d %s", name, code, errs)
		}
	}
}

// Each of these said "Try `muster --help`", which lists all commands.
func TestWrongArgumentsNameTheHelpOfTheirCommand(t *testing.T) {
	for args, command := range map[string]string{
		"device":                    "muster device",
		"device get":                "muster device get",
		"device list --nonsense":    "muster device list",
		"device lst":                "muster device",
		"rollout show first":        "muster rollout show",
		"user create ann":           "muster user create",
		"user role ann king":        "muster user role",
		"token create --role king":  "muster token create",
		"devise list":               "muster",
		"template put -o xml a":     "muster template put",
		"completion tcsh":           "muster completion",
		"folder-roots remove":       "muster folder-roots remove",
		"device edit":               "muster device edit",
		"rollout undo 7 --nonsense": "muster rollout undo",
	} {
		code, _, errs := run(t, strings.Fields(args)...)
		if code != exitUsage || !strings.HasSuffix(errs, "\nTry `"+command+" --help`.\n") {
			t.Errorf("%s: got %d, %s", args, code, errs)
		}
	}
}
