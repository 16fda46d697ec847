// Package muster_test checks the plan of the house: which room may import which.
package muster_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The rings, from the inside out. A room's ring is its path: internal/core/plan is in the core. A room imports from the
// rings further in, and from its own ring only what mayAlsoImport names. Adapters and engines are one ring.
var rings = [][]string{
	{"internal/fleet", "internal/logkey"},
	{"internal/core"},
	{"internal/adapter", "internal/engine"},
	{"api", "client", "internal/edge", "internal/stsim", "docs", "web"},
	{"internal/app"},
	{"internal/edge/cli"}, // its commands are an edge; serve starts app
	{"cmd", "test"},
}

// Inside one ring nobody imports a neighbour, except:
var mayAlsoImport = map[string][]string{
	"internal/core/template":   {"internal/core/stconfig"},
	"internal/core/plan":       {"internal/core/stconfig"},
	"internal/core/desired":    {"internal/core/stconfig", "internal/core/template"},
	"internal/core/form":       {"internal/core/stconfig"},
	"internal/core/fleetfiles": {"internal/core/stconfig", "internal/core/template"},
	"internal/adapter/agent":   {"internal/adapter/tunnel"}, // the two ends of one protocol
	"internal/adapter/listen":  {"internal/adapter/seal", "internal/adapter/tunnel"},
	"internal/engine/notify":   {"internal/adapter/outbound"},
	"internal/engine/sink":     {"internal/adapter/outbound"},
	"client":                   {"api"},
	"internal/edge/httpapi":    {"api", "internal/edge/auth", "internal/edge/openapi"},
	"internal/edge/openapi":    {"api", "internal/edge/auth"},
	"internal/edge/pages":      {"internal/edge/auth"},
	"test":                     {"test"},
}

// Rooms that a room must not see although they lie further in.
var neverImports = map[string][]string{
	"api":                   {"internal/adapter", "internal/engine"},
	"client":                {"internal/adapter", "internal/engine"},
	"internal/edge/httpapi": {"internal/adapter"},
	"internal/edge/openapi": {"internal/adapter"},
	"internal/edge/pages":   {"internal/adapter", "internal/engine"},
	"internal/stsim":        {"internal/adapter/store", "internal/adapter/sandbox", "internal/engine"},
}

func TestImportsPointInward(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var pkg struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&pkg); err != nil {
			t.Fatal(err)
		}
		from := room(pkg.ImportPath)
		if from == "" {
			continue // the module itself
		}
		if ringOf(from) < 0 {
			t.Errorf("%s is in no ring: put it below internal/core, adapter, engine or edge", from)
			continue
		}
		for _, imported := range pkg.Imports {
			to := room(imported)
			if to == "" || to == from {
				continue
			}
			if within(to, neverImports[from]) || !allowed(from, to) {
				t.Errorf("%s imports %s: imports point inward only", pkg.ImportPath, imported)
			}
		}
	}
}

// The table of ADR 1 says where a change belongs. A room that it does not name is not found.
func TestEveryRoomIsInThePlan(t *testing.T) {
	plan, err := os.ReadFile("docs/adr/0001-four-rings.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, ring := range []string{"core", "adapter", "engine", "edge"} {
		rooms, err := os.ReadDir(filepath.Join("internal", ring))
		if err != nil {
			t.Fatal(err)
		}
		for _, room := range rooms {
			if !strings.Contains(string(plan), "`"+room.Name()+"`") {
				t.Errorf("internal/%s/%s is not in docs/adr/0001-four-rings.md", ring, room.Name())
			}
		}
	}
}

func allowed(from, to string) bool {
	if ringOf(to) < ringOf(from) {
		return true
	}
	return ringOf(to) == ringOf(from) && (ringOf(to) == 0 || slices.Contains(mayAlsoImport[from], to))
}

// room is the folder that a package of ours belongs to: internal/fleet, internal/core/plan, cmd, test, api; "" for
// packages of others.
func room(importPath string) string {
	path, ours := strings.CutPrefix(importPath, "muster/")
	if !ours {
		return ""
	}
	parts := strings.Split(path, "/")
	depth := 1
	if parts[0] == "internal" && len(parts) > 1 {
		depth = 2
		if slices.Contains([]string{"core", "adapter", "engine", "edge"}, parts[1]) {
			depth = 3
		}
	}
	return strings.Join(parts[:min(depth, len(parts))], "/")
}

// ringOf is the index of the ring whose path is the longest that a room lies in; -1 for a room in no ring.
func ringOf(room string) int {
	found, longest := -1, 0
	for i, ring := range rings {
		for _, path := range ring {
			if len(path) > longest && within(room, []string{path}) {
				found, longest = i, len(path)
			}
		}
	}
	return found
}

// within tells whether a room is one of some paths or lies below one.
func within(room string, paths []string) bool {
	return slices.ContainsFunc(paths, func(path string) bool {
		return room == path || strings.HasPrefix(room, path+"/")
	})
}

// Packages of npm run no scripts of their own while they are installed.
func TestPackagesRunNoScripts(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(makefile)) {
		if strings.Contains(line, "npm ci") && !strings.Contains(line, "--ignore-scripts") {
			t.Errorf("it runs scripts: %s", line)
		}
	}
}
