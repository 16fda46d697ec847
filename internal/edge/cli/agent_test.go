package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"muster/internal/adapter/agent"
)

// syncthingHome is one that a daemon made.
func syncthingHome(t *testing.T) string {
	t.Helper()
	home := filepath.Join(t.TempDir(), "a home")
	generate := exec.Command("syncthing", "generate", "--home", home)
	generate.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	if out, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return home
}

func TestTheServiceOfAnAgentIsOneThatSystemdTakes(t *testing.T) {
	home, unit := syncthingHome(t), filepath.Join(t.TempDir(), agentUnit)
	fingerprint := "sha256:" + strings.Repeat("ab", 32)
	for name, more := range map[string][]string{"user": nil, "system": {"--system"}} {
		code, out, errs := run(t, append([]string{"agent", "install", "--print", "--server", "https://muster.example:2525",
			"--fingerprint", fingerprint, "--home", home, "--observe", "--allow", "revert,versions"}, more...)...)
		if code != exitDone {
			t.Fatalf("%s: got %d: %s", name, code, errs)
		}
		for _, want := range []string{`--home "` + home + `"`, "--fingerprint " + fingerprint, "--observe",
			"--allow revert,versions", "NoNewPrivileges=yes"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %s in\n%s", name, want, out)
			}
		}
		if _, err := exec.LookPath("systemd-analyze"); err != nil {
			t.Log("systemd-analyze is not here: the units were not verified")
			continue
		}
		// The binary of a test is in a folder that goes.
		text := strings.NewReplacer("ExecStart="+firstWord(out), "ExecStart=/bin/true").Replace(out)
		if err := os.WriteFile(unit, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		verify := exec.Command("systemd-analyze", "verify", "--"+name, unit)
		verify.Env = append(os.Environ(), "XDG_RUNTIME_DIR="+t.TempDir())
		if out, err := verify.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: systemd-analyze verify: %v: %s", name, err, out)
		}
		if name == "user" {
			continue
		}
		// 2.0 out of 10, in tenths
		security := exec.Command("systemd-analyze", "security", "--offline=true", "--threshold=20", unit)
		if out, err := security.CombinedOutput(); err != nil {
			t.Errorf("systemd-analyze security: %v: %s", err, out)
		}
	}
}

func TestAnAgentAllowsNothingThatItDoesNotKnow(t *testing.T) {
	code, _, errs := run(t, "agent", "--server", "https://muster.example:2525", "--allow", "revert,shutdown")
	if code != exitUsage || !strings.Contains(errs, "override,revert,versions") && !strings.Contains(errs, `"override"`) {
		t.Errorf("got %d: %s", code, errs)
	}
}

// firstWord is the program that a unit starts.
func firstWord(unit string) string {
	_, after, _ := strings.Cut(unit, "ExecStart=")
	first, _, _ := strings.Cut(after, " agent run ")
	return first
}

func TestCommandLinesOfServicesAreQuoted(t *testing.T) {
	if got, want := quotedForSystemd([]string{"/bin/x", "a b", "50%", "$HOME", `q"\`, "", "--x"}),
		`/bin/x "a b" "50%%" "$$HOME" "q\"\\" "" --x`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAUnitOfOthersIsLeftAlone(t *testing.T) {
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	path := unitPath(false)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("[Unit]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"agent", "uninstall"},
		{"agent", "install", "--server", "muster.example", "--home", syncthingHome(t)}} {
		if code, _, errs := run(t, args...); !refuses(code) || !strings.Contains(errs, "was not written by") {
			t.Errorf("%v: got %d: %s", args, code, errs)
		}
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "[Unit]\n" {
		t.Errorf("the unit of others is %q, %v now", text, err)
	}
}

func TestAgentStatusSaysToWhomItIsConnectedAndWhatWasChanged(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	code, _, errs := run(t, "agent", "status")
	if code != exitRefused || !strings.Contains(errs, "muster agent install") {
		t.Errorf("without an agent: got %d: %s", code, errs)
	}
	a, err := agent.New(agent.Options{Server: "https://127.0.0.1:1", Home: syncthingHome(t), Observe: true})
	if err != nil {
		t.Fatal(err)
	}
	socket, err := a.Listen(agent.RuntimeDir())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go a.Tell(ctx, socket)
	path := socket.Addr().String()
	for file, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: got %v, %v", file, info, err)
		}
	}
	code, out, errs := run(t, "agent", "status")
	if code != exitFailed || !strings.Contains(out, "Not connected to https://127.0.0.1:1") ||
		!strings.Contains(out, "--observe") || !strings.Contains(out, "changed nothing") {
		t.Errorf("got %d: %s%s", code, out, errs)
	}
	_, err = a.Listen(agent.RuntimeDir())
	if err == nil || !strings.Contains(err.Error(), "runs for this daemon already") {
		t.Errorf("a second agent: got %v", err)
	}
}

func TestAnAgentSaysWhatIsMissing(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"no server":          {[]string{"agent"}, "--fingerprint sha256:"},
		"plain HTTP":         {[]string{"agent", "--server", "http://muster.example:2525"}, "plain HTTP"},
		"no home":            {[]string{"agent", "--server", "muster.example", "--home", t.TempDir()}, "syncthing paths"},
		"no fingerprint":     {[]string{"agent", "--server", "x", "--fingerprint", "abc"}, "64 hexadecimal"},
		"no CA":              {[]string{"agent", "--server", "x", "--ca", "/absent"}, "in PEM"},
		"a key in a service": {[]string{"agent", "install", "--server", "x", "--key", "k"}, "--key-file"},
	} {
		t.Run(name, func(t *testing.T) {
			if code, _, errs := run(t, test.args...); code != exitUsage || !strings.Contains(errs, test.want) {
				t.Errorf("got %d: %s", code, errs)
			}
		})
	}
}
