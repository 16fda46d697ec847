package guard_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/daemon"
	"muster/test/guard"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

// lanesOfPaths is how many daemons of each version and system try paths at the same time.
const lanesOfPaths = 8

// pathCase is one path in one form.
type pathCase struct {
	guard.Path
	guard.Form
}

// pathCases are those of a system: every path in every form with MUSTER_SOAK=1, else every path in one of them.
func pathCases(system stsim.System) []pathCase {
	var cases []pathCase
	for i, path := range guard.Paths[system] {
		for j, form := range guard.Forms {
			same := form.At == "defaults.folder.path" && path.Text == "~" // what daemons have there already is no change
			if (soaking() || i%len(guard.Forms) == j) && form.Takes(path) && !same {
				cases = append(cases, pathCase{path, form})
			}
		}
	}
	return cases
}

// Every path on simulated daemons of both versions and three systems, by an author and an admin, with every set of
// roots: what a whole Muster says that would become of it.
func TestPathsOnSimulatedDaemons(t *testing.T) {
	t.Parallel()
	systems := []stsim.System{stsim.Linux, stsim.Windows, stsim.MacOS}
	versions := []stsim.Version{stsim.V2, stsim.V1}
	farm := simulated.Start(t, stsim.Options{Count: len(systems) * len(versions) * lanesOfPaths, Network: 85,
		Versions: versions, Systems: systems,
		Folders: -1, Quiet: true})
	s := server.Start(t, server.Options{})
	lanes := map[stsim.System][]string{} // tags, each of one daemon of each version
	for i, d := range farm.Daemons() {
		system, tag := systems[i/len(versions)%len(systems)], fmt.Sprint("lane-", i/len(versions))
		target{id: d.ID(), key: d.APIKey(), host: d.Host(), port: d.Port()}.must(t, http.MethodPut, "/rest/config/folders",
			fmt.Sprintf(`[{"id": %q, "path": "~/photos"}]`, guard.Folder))
		s.Register(d.ID(), d.APIKey(), d.Host(), d.Port(), tag)
		if i%len(versions) == 0 {
			lanes[system] = append(lanes[system], tag)
		}
	}
	for _, d := range farm.Daemons() {
		waitRead(t, s, d.ID())
	}
	second := []string{"~"}
	for _, system := range systems {
		second = append(second, guard.SecondRoots[system])
	}
	author, tried := as(t, s, fleet.RoleAuthor), 0
	for _, roots := range [][]string{{}, {fleet.DefaultFolderRoot}, {"~"}, second} {
		if _, err := s.Client.PutFolderRoots(t.Context(), roots); err != nil {
			t.Fatal(err)
		}
		for role, by := range map[fleet.Role]*server.Server{fleet.RoleAuthor: author, fleet.RoleAdmin: s} {
			rest := map[stsim.System][]pathCase{}
			for _, system := range systems {
				rest[system] = pathCases(system)
			}
			for slices.ContainsFunc(systems, func(system stsim.System) bool { return len(rest[system]) > 0 }) {
				tried += tryPaths(t, by, lanes, rest, func(c pathCase) bool {
					return c.Free(c.Path, role == fleet.RoleAdmin, roots)
				}, len(versions))
			}
		}
	}
	t.Logf("%d cases", tried)
	for system, tags := range lanes {
		s.Template("merge", "folders", nobodys(system), tags...)
	}
	for _, d := range farm.Daemons() {
		s.WaitConfiguration(d.ID(), fleet.ConfigHeld)
		if sent := d.Counters().Writes; sent != 1 {
			t.Errorf("%s got %d writes, want the one that made the scene", d.ID().Short(), sent)
		}
	}
}

// nobodys are folders at every path that nobody may use without consent.
func nobodys(system stsim.System) string {
	form := guard.Form{Text: "<path>"}
	var folders []string
	for i, path := range guard.Paths[system] {
		if path.Reach == guard.Nobodys {
			folders = append(folders, fmt.Sprintf(`{"id": "case-%d", "path": %s}`, i, form.Template(path)))
		}
	}
	return "[" + strings.Join(folders, ", ") + "]"
}

// waitRead waits until the configuration of a daemon is kept.
func waitRead(t *testing.T, s *server.Server, id fleet.DeviceID) {
	t.Helper()
	s.WaitConfiguration(id, fleet.ConfigUnmanaged)
	wait.Until(t, func() string {
		if _, err := s.Client.DeviceConfig(t.Context(), string(id)); err != nil {
			return err.Error()
		}
		return ""
	})
}

// tryPaths tries as many cases at once as there are lanes, each on one daemon of every version.
func tryPaths(t *testing.T, by *server.Server, lanes map[stsim.System][]string, rest map[stsim.System][]pathCase,
	free func(pathCase) bool, versions int) int {
	t.Helper()
	var templates []api.WhatIfNew
	var cases []pathCase
	for system, tags := range lanes {
		for _, tag := range tags {
			if len(rest[system]) == 0 {
				break
			}
			c := rest[system][0]
			rest[system] = rest[system][1:]
			op, text := string(c.Op), c.Template(c.Path)
			templates = append(templates, api.WhatIfNew{Op: &op, Key: &c.Key, Template: &text, Tags: []string{tag}})
			cases = append(cases, c)
		}
	}
	made, err := by.Client.WhatIf(t.Context(), api.WhatIf{Templates: &api.WhatIfTemplates{New: templates}})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[int64]int{}
	for _, device := range made.Devices {
		if device.Error != "" || device.Unread {
			t.Fatalf("%s: %+v", device.DeviceID, device)
		}
		for _, change := range device.Changes {
			for _, template := range change.Templates {
				c := cases[slices.Index(made.NewTemplates, template)]
				if !strings.EqualFold(change.Key, c.At) {
					continue
				}
				seen[template]++
				if got := change.Class == string(plan.Free); got != free(c) {
					t.Errorf("%s: %s %q is %s (%s)", device.DeviceID, c.Name, c.Path.Text, change.Class, change.Reason)
				}
			}
		}
	}
	for i, template := range made.NewTemplates {
		if seen[template] != versions {
			t.Errorf("%s %q: judged on %d daemons, want %d", cases[i].Name, cases[i].Path.Text, seen[template], versions)
		}
	}
	return len(cases) * versions
}

// The same on a real daemon, for paths that do not depend on where its home is: a sample, and all with
// MUSTER_SOAK=1. What is held is saved and tagged as well, and nothing of it reaches the daemon.
func TestPathsOnARealDaemon(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	rootAtHome(t, s)
	d := daemon.Start(t, daemon.Options{})
	target := target{id: d.ID, key: d.APIKey, host: d.Address, port: d.Port}
	target.must(t, http.MethodPut, "/rest/config/folders", fmt.Sprintf(`[{"id": %q, "path": "~/photos"}]`, guard.Folder))
	s.Register(d.ID, d.APIKey, d.Address, d.Port, "real")
	waitRead(t, s, d.ID)
	before := target.config(t)
	author := as(t, s, fleet.RoleAuthor)
	var cases []pathCase
	for _, c := range pathCases(stsim.Linux) {
		if !strings.HasPrefix(strings.ToLower(c.Path.Text), "/home") && !strings.Contains(c.Path.Text, "syncthing") {
			cases = append(cases, c)
		}
	}
	for _, by := range []*server.Server{author, s} {
		rest := map[stsim.System][]pathCase{stsim.Linux: slices.Clone(cases)}
		for len(rest[stsim.Linux]) > 0 {
			tryPaths(t, by, map[stsim.System][]string{stsim.Linux: {"real"}}, rest, func(c pathCase) bool {
				return c.Free(c.Path, by == s, []string{"~"})
			}, 1)
		}
	}
	for i, c := range cases {
		if c.Free(c.Path, false, []string{"~"}) || !soaking() && i%5 != 0 {
			continue
		}
		id := author.Template(string(c.Op), c.Key, c.Template(c.Path), "real")
		s.WaitState(d.ID, "held: "+c.Name+" "+c.Path.Text,
			func(state api.DeviceState) bool { return state.Configuration == string(fleet.ConfigHeld) })
		at := keyOf(t, c.At)
		for _, change := range stconfig.Diff(before, target.config(t)) {
			if change.Key.HasPrefix(at) || at.HasPrefix(change.Key) {
				t.Errorf("%s %q: %s changed at the daemon", c.Name, c.Path.Text, change.Key)
			}
		}
		if err := s.Client.DeleteTemplate(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
	}
	t.Logf("%d cases", len(cases))
}
