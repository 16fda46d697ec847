package cli

import (
	"maps"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
)

// The last of two paths for the same systems was taken, and nobody was told.
func TestTwoPathsForTheSameSystemsAreRefused(t *testing.T) {
	for want, given := range map[string][]string{
		"for all systems": {"~/A", "~/B"}, "for windows": {"windows=D:\\A", "~/A", "windows=D:\\B"},
	} {
		paths, err := pathsBySystem(given)
		if fleet.CodeOf(err) != fleet.CodeInvalid || !strings.Contains(err.Error(), "--path is given twice "+want) {
			t.Errorf("%q: got %v, %v, want an error %s", given, paths, err, want)
		}
	}
	want := map[string]string{"": "~/A", "windows": "D:\\A"}
	if paths, err := pathsBySystem([]string{"windows=D:\\A", "~/A"}); err != nil || !maps.Equal(paths, want) {
		t.Errorf("got %v, %v", paths, err)
	}
}

func TestAnEncryptedFolderWithoutAPasswordNamesTheFlag(t *testing.T) {
	err := checkSecret(api.ShareForm{Encrypted: []string{"vault"}})
	if fleet.CodeOf(err) != fleet.CodeInvalid || !strings.Contains(err.Error(), "--encrypted-with") {
		t.Errorf("got %v", err)
	}
	for _, share := range []api.ShareForm{{}, {Encrypted: []string{"vault"}, Secret: "vault-pw"}} {
		if err := checkSecret(share); err != nil {
			t.Errorf("%+v: got %v", share, err)
		}
	}
}

func TestAFieldInThePlaceOfTheLabelIsRefused(t *testing.T) {
	kind := api.FormKind{Name: "limits", Fields: []api.FormField{{Name: "send"}}}
	if err := checkLabel(kind, "send=2 MB/s"); fleet.CodeOf(err) != fleet.CodeInvalid {
		t.Errorf("got %v", err)
	}
	for _, label := range []string{"Berlin", "speed=2"} {
		if err := checkLabel(kind, label); err != nil {
			t.Errorf("%q: got %v", label, err)
		}
	}
}
