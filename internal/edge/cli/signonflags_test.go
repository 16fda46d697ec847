package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/internal/fleet"
)

func serveFlags(t *testing.T, args ...string) *serveCommand {
	t.Helper()
	var model commands
	parsed, err := modelOf(t, &model).Parse(append([]string{"serve"}, args...))
	if err != nil {
		t.Fatal(err)
	}
	if err := fillSecrets(parsed.Flags()); err != nil {
		t.Fatal(err)
	}
	return &model.Serve
}

func TestFlagsOfSingleSignOnGoTogether(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("hidden\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	whole := []string{"--oidc-issuer", "https://id.example", "--oidc-client-id", "muster", "--oidc-client-secret-file",
		file, "--oidc-role", "admin=a,b", "--oidc-role", "viewer:x,y=c"}
	c := serveFlags(t, whole...)
	got, err := c.signOn()
	if err != nil || c.check() != nil || len(got.Rules) != 2 || got.Rules[0].Group != "a,b" ||
		got.ClientSecret.Reveal() != "hidden" || got.Name != "id.example" ||
		strings.Join(got.Scopes, " ") != "profile email" {
		t.Errorf("got %+v, %v, %v", got, err, c.check())
	}
	for says, args := range map[string][]string{
		"no --oidc-issuer":    {"--oidc-client-id", "muster"},
		"no --oidc-client-id": whole[:2],
		"no --oidc-role":      whole[:6],
		"no --public-url":     append([]string{"--listen", ":2525"}, whole...),
		"--public-url":        append([]string{"--public-url", "http://muster.example"}, whole...),
	} {
		if err := serveFlags(t, args...).check(); fleet.CodeOf(err) != fleet.CodeInvalid ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %v, want %s", args, err, says)
		}
	}
	t.Setenv("MUSTER_OIDC_ROLE", "admin=a;viewer:x,y=c")
	if got, err := serveFlags(t).signOn(); err != nil || len(got.Rules) != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
	if got, err := (&signOnFlags{OIDCCA: filepath.Join(t.TempDir(), "none")}).signOn(); fleet.CodeOf(err) !=
		fleet.CodeInvalid {
		t.Errorf("got %+v, %v", got, err)
	}
}
