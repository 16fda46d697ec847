// Package muster_test checks the plan of the house: which room may import which.
package muster_test

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// The rings, from the inside out. A room imports from its own ring only what mayAlsoImport names.
var rings = [][]string{
	{"internal/fleet", "internal/logkey", "internal/memlimit"},
	{"internal/stconfig", "internal/template", "internal/desired", "internal/plan", "internal/fleetfiles"},
	{"internal/store", "internal/sandbox", "internal/syncthing", "internal/discovery", "internal/seal",
		"internal/event", "internal/mirror", "internal/reconcile", "internal/rollout", "internal/notify", "internal/health",
		"internal/budget", "internal/backup", "internal/signon", "internal/tunnel",
		"internal/enrollment", "internal/action"},
	{"api", "client", "internal/auth", "internal/httpapi", "internal/listen", "internal/metrics", "internal/stsim",
		"internal/agent", "internal/manual", "internal/demo", "docs", "web"},
	{"internal/app"},
	{"internal/cli"},
	{"cmd", "test"},
}

// Inside one ring nobody imports a neighbour, except:
var mayAlsoImport = map[string][]string{
	"internal/template":   {"internal/stconfig"},
	"internal/plan":       {"internal/stconfig"},
	"internal/desired":    {"internal/stconfig", "internal/template"},
	"internal/fleetfiles": {"internal/stconfig", "internal/template"},
	"internal/store":      {"internal/seal"},
	"client":              {"api"},
	"internal/auth":       {"api"},
	"internal/httpapi":    {"api", "internal/auth"},
	"cmd":                 {},
	"test":                {"test"},
}

// Rooms that a whole ring must not see although they lie further in.
var neverImports = map[string][]string{
	"api": {"internal/store", "internal/syncthing", "internal/sandbox", "internal/mirror",
		"internal/reconcile"},
	"client": {"internal/store", "internal/syncthing", "internal/sandbox", "internal/mirror",
		"internal/reconcile"},
	"internal/stsim":   {"internal/store", "internal/sandbox", "internal/mirror", "internal/reconcile"},
	"internal/httpapi": {"internal/store", "internal/seal", "internal/sandbox", "internal/syncthing"},
}

func TestImportsPointInward(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
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
			t.Errorf("%s is in no ring: add it to the plan of the house", from)
			continue
		}
		seen[from] = true
		for _, imported := range pkg.Imports {
			to := room(imported)
			if to == "" || to == from {
				continue
			}
			if slices.Contains(neverImports[from], to) || !allowed(from, to) {
				t.Errorf("%s imports %s: imports point inward only", pkg.ImportPath, imported)
			}
		}
	}
	for _, name := range slices.Concat(rings...) {
		if !seen[name] {
			t.Errorf("there is no room %s: take it out of the plan of the house", name)
		}
	}
}

func allowed(from, to string) bool {
	if ringOf(to) < ringOf(from) {
		return true
	}
	return ringOf(to) == ringOf(from) && (to == "internal/fleet" || to == "internal/logkey" ||
		slices.Contains(mayAlsoImport[from], to))
}

// room is the first folder of a package of ours ("cmd", "test", "api") or the first below internal; "" for others.
func room(importPath string) string {
	path, ours := strings.CutPrefix(importPath, "muster/")
	if !ours {
		return ""
	}
	parts := strings.Split(path, "/")
	if parts[0] == "internal" && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

func ringOf(room string) int {
	return slices.IndexFunc(rings, func(ring []string) bool { return slices.Contains(ring, room) })
}
