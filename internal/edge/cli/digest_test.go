package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
)

func TestADigestIsNamedByItsBeginning(t *testing.T) {
	digest := strings.Repeat("ab", wholeDigest/2)
	for begins, want := range map[string]bool{digest: true, digest[:12]: true, digest[:leastDigest]: true,
		digest[:3]: false, "": false, digest[:12] + "c": false, digest + "a": false} {
		if got := beginsDigest(digest, begins); got != want {
			t.Errorf("%q: got %v", begins, got)
		}
	}
}

// Templates in YAML were left out without a word.
func TestYAMLIsRefusedByName(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, templatesDir), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, templatesDir), "team.yaml", "a: 1\n")
	code, out, errs := run(t, "test", "-f", dir)
	if code == exitDone || !strings.Contains(errs, "templates/team.yaml is YAML") || !strings.Contains(errs, ".hjson") {
		t.Errorf("got %d, %q, %q", code, out, errs)
	}
}

// A template that reads device.os had a blank text without a server, and every assertion about it was broken.
func TestFactsOfDaemonsAreThereWithoutAServer(t *testing.T) {
	dir := t.TempDir()
	now := api.Fleet{Devices: map[string]api.FleetDevice{idNAS: {Label: "nas", Tags: []string{"all"},
		System: &api.FleetSystem{OS: "linux", Arch: "arm64", Version: "v2.1.3"}}}}
	text, err := fleetFileOf(now, "").text()
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, fleetFileName, text)
	d, err := readFleetDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	offline, err := newTrial(d)
	if err != nil {
		t.Fatal(err)
	}
	facts := offline.factsOf(fleet.DeviceID(idNAS))
	if facts.OS != "linux" || facts.Arch != "arm64" || facts.Version != "v2.1.3" || facts.Label != "nas" {
		t.Errorf("got %+v", facts)
	}
}
