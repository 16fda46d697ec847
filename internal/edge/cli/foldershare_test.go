package cli

import (
	"maps"
	"strings"
	"testing"

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
