// Package patterns_test saves and writes ignore patterns that daemons cannot read.
//
//muster:needs daemons
package patterns_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/simulated"
)

func TestMain(m *testing.M) {
	server.Main()
	os.Exit(m.Run())
}

// target is one daemon with the folder "photos".
type target struct {
	name  string
	id    fleet.DeviceID
	key   string
	host  string
	port  int
	lines func() []string // of the folder's patterns
}

// targets are simulated daemons of both versions and a real one, registered, with a tag each.
func targets(t *testing.T, s *server.Server, network int) []target {
	t.Helper()
	farm := simulated.Start(t, stsim.Options{Count: 2, Network: network,
		Versions: []stsim.Version{stsim.V2, stsim.V1}, Folders: -1, Quiet: true})
	real := daemon.Start(t, daemon.Options{})
	all := []target{{name: "real", id: real.ID, key: real.APIKey, host: real.Address, port: real.Port,
		lines: func() []string {
			var answer struct{ Ignore []string }
			real.GetJSON("/rest/db/ignores?folder=photos", &answer)
			return answer.Ignore
		}}}
	for _, d := range farm.Daemons() {
		all = append(all, target{name: string(d.Version()), id: d.ID(), key: d.APIKey(), host: d.Host(), port: d.Port(),
			lines: func() []string { return d.Ignores("photos") }})
	}
	for _, d := range all {
		s.Register(d.id, d.key, d.host, d.port, d.name)
		s.WaitConfiguration(d.id, fleet.ConfigUnmanaged)
	}
	s.Template("merge", "folders.photos", `{"path": "~/photos"}`, "real", string(stsim.V1), string(stsim.V2))
	for _, d := range all {
		s.WaitConfiguration(d.id, fleet.ConfigInSync)
	}
	return all
}

// A literal that no daemon can read is refused when it is saved, with its line.
func TestABadPatternIsRefusedWithItsLine(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	for name, c := range map[string]struct {
		key, text string
		line      int
	}{
		"list":     {"ignores.photos", "[\n  \"*.tmp\"\n  \"[unclosed\"\n]", 3},
		"section":  {"ignores", "{\n  docs: [\"fine\"]\n  photos: [\n    \"(?i)\"\n  ]\n}", 4},
		"defaults": {"defaults.ignores.lines", "[\"[z-a]\"]", 1},
		"whole":    {"", "{\n  ignores: {photos: [\"#include\"]}\n}", 2},
		"every":    {"ignores.*", "[\"[]\"]", 1},
	} {
		op := "merge"
		_, err := s.Client.CreateTemplate(t.Context(), api.PutTemplate{Op: &op, Key: &c.key, Template: &c.text})
		var refused *client.Error
		if !errors.As(err, &refused) || refused.Status != 422 || len(refused.Problem.Errors) == 0 {
			t.Errorf("%s: got %v, want 422", name, err)
			continue
		}
		if got := refused.Problem.Errors[0].Line; got != c.line {
			t.Errorf("%s: the error is in line %d, want %d: %v", name, got, c.line, err)
		}
	}
	op, key, text := "remove", "ignores.photos", `["[unclosed"]`
	if _, err := s.Client.CreateTemplate(t.Context(), api.PutTemplate{Op: &op, Key: &key, Template: &text}); err != nil {
		t.Errorf("a bad pattern cannot be taken away: %v", err)
	}
}

// failed waits until a device is failed for a reason that names both texts.
func failed(s *server.Server, d target, one, other string) {
	s.WaitState(d.id, "failed because of "+one+" and "+other, func(state api.DeviceState) bool {
		return state.Configuration == string(fleet.ConfigFailed) && strings.Contains(state.Reason, one) &&
			strings.Contains(state.Reason, other)
	})
}

// What a program makes is checked in the plan: nothing is written, and the template is named.
func TestABadPatternOfAProgramIsNotWritten(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	for _, d := range targets(t, s, 90) {
		id := s.Template("set", "ignores.photos", `["fine"] + ["[" + "unclosed"]`, d.name)
		failed(s, d, fmt.Sprintf("template %d", id), "[unclosed")
		if lines := d.lines(); len(lines) > 0 {
			t.Errorf("%s: the patterns are %q", d.name, lines)
		}
	}
}

// An included file that is not there stops the folder: Muster cannot know that before. The device is failed until the
// template is corrected, also after a restart of Muster.
func TestAFolderThatAChangePutInErrorMakesTheDeviceFailed(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	s := server.Start(t, server.Options{Home: home})
	all := targets(t, s, 91)
	includes := map[string]int64{}
	for _, d := range all {
		includes[d.name] = s.Template("set", "ignores.photos", `["#include nothing"]`, d.name)
	}
	blamed := func() {
		t.Helper()
		for _, d := range all {
			failed(s, d, `"photos"`, "nothing")
		}
	}
	blamed()
	s.Kill()
	s.WaitEnd()
	s = server.Start(t, server.Options{Home: home})
	blamed()
	for _, d := range all {
		if err := s.Client.DeleteTemplate(t.Context(), includes[d.name]); err != nil {
			t.Fatal(err)
		}
		s.WaitConfiguration(d.id, fleet.ConfigInSync)
	}
}
