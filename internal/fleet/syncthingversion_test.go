package fleet

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestCompareVersionsPutsCandidatesBeforeTheirRelease(t *testing.T) {
	ordered := []string{"", "unknown-dev", "v1.9.0", "v1.10.0", "v1.10.0-ds1", "v2.0.0-dev.4", "v2.0.0-rc.2",
		"v2.0.0-rc.10", "v2.0.0", "2.1", "v2.1.3"}
	shuffled := slices.Clone(ordered)
	rand.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	slices.SortFunc(shuffled, CompareVersions)
	if !slices.Equal(shuffled, ordered) {
		t.Errorf("got %q, want %q", shuffled, ordered)
	}
	if got := CompareVersions("2.1.0", "v2.1.0"); got != 0 {
		t.Errorf("2.1.0 and v2.1.0 differ: %d", got)
	}
}

func TestOutdatedAmong(t *testing.T) {
	for _, c := range []struct {
		name      string
		versions  []string
		newest    string
		candidate string
		outdated  []string
	}{
		{"no device", nil, "", "", nil},
		{"one version", []string{"v2.1.0"}, "v2.1.0", "", nil},
		{"a candidate is not the newest for releases", []string{"v2.1.0", "v2.2.0-rc.1"}, "v2.1.0", "v2.2.0-rc.1", nil},
		{"candidates are compared with each other", []string{"v2.1.0", "v2.2.0-rc.1", "v2.2.0-rc.2"}, "v2.1.0", "v2.2.0-rc.2",
			[]string{"v2.2.0-rc.1"}},
		{"a candidate before the newest release", []string{"v2.1.0-rc.3", "v2.1.0"}, "v2.1.0", "", []string{"v2.1.0-rc.3"}},
		{"candidates alone", []string{"v2.1.0-rc.1", "v2.1.0-rc.2"}, "", "v2.1.0-rc.2", []string{"v2.1.0-rc.1"}},
		{"earlier lines", []string{"v2.1.0", "v1.30.0", "v1.29.1"}, "v2.1.0", "", []string{"v1.29.1", "v1.30.0"}},
		{"a distribution's package is the release", []string{"v1.19.2-ds1", "v1.19.2"}, "v1.19.2", "", nil},
		{"no version", []string{"", "unknown-dev", "v99999999999.0.0", "v2.1.0"}, "v2.1.0", "", nil},
	} {
		counts := map[string]int{}
		for _, version := range c.versions {
			counts[version] = 1
		}
		got := OutdatedAmong(counts)
		if got.Newest != c.newest || got.NewestCandidate != c.candidate || !slices.Equal(got.Versions, c.outdated) {
			t.Errorf("%s: %+v, want newest %q, candidate %q, outdated %q", c.name, got, c.newest, c.candidate, c.outdated)
		}
	}
}
