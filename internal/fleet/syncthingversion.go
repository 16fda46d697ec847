package fleet

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// versionCore is the beginning of a version of Syncthing, as in v2.1.3 or v2.1.0-rc.2, or of a part of one, as in 2.1.
// Nine digits fit into an int.
var versionCore = regexp.MustCompile(`^v?([0-9]{1,9})(?:\.([0-9]{1,9}))?(?:\.([0-9]{1,9}))?`)

// beforeRelease matches what follows the numbers of a build that comes before the release with these numbers.
// Distributions add other suffixes to releases: Debian's v1.19.2-ds1 is the release v1.19.2.
var beforeRelease = regexp.MustCompile(`^-(alpha|beta|rc|pre|dev)\b`)

// syncthingVersion is a version whose numbers are known.
type syncthingVersion struct {
	numbers     [3]int
	isCandidate bool   // The version comes before the release with these numbers.
	suffix      string // text after the numbers, as "-rc.2"
}

func readVersion(text string) (v syncthingVersion, ok bool) {
	found := versionCore.FindStringSubmatch(text)
	if found == nil {
		return v, false
	}
	v.suffix = text[len(found[0]):]
	if v.suffix != "" && isDigit(rune(v.suffix[0])) { // The number has more than nine digits.
		return v, false
	}
	for i := range v.numbers {
		v.numbers[i], _ = strconv.Atoi(found[i+1]) // A blank number is 0.
	}
	v.isCandidate = beforeRelease.MatchString(v.suffix)
	return v, true
}

// compare compares the numbers, then whether a version comes before its release. Suffixes of candidates are compared
// too; those of releases name a package of the same software.
func (v syncthingVersion) compare(other syncthingVersion) int {
	order := cmp.Or(slices.Compare(v.numbers[:], other.numbers[:]), -compareBools(v.isCandidate, other.isCandidate))
	if order == 0 && v.isCandidate {
		order = compareRuns(v.suffix, other.suffix)
	}
	return order
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// IsVersion reports whether a text is a version of Syncthing or the beginning of one. Builds from source may report
// other texts, as "unknown-dev".
func IsVersion(text string) bool {
	_, ok := readVersion(text)
	return ok
}

// CompareVersions orders versions of Syncthing: v1.9.0 is before v1.10.0, and v2.0.0-rc.1 before v2.0.0. Texts that are
// no versions come first.
func CompareVersions(a, b string) int {
	first, isFirst := readVersion(a)
	second, isSecond := readVersion(b)
	switch {
	case isFirst && isSecond:
		return cmp.Or(first.compare(second), compareRuns(first.suffix, second.suffix))
	case isFirst != isSecond:
		return compareBools(isFirst, isSecond)
	}
	return compareRuns(a, b)
}

// compareRuns compares runs of digits as numbers and the text between them as text.
func compareRuns(a, b string) int {
	for a != "" && b != "" {
		runA, runB := versionRun(a), versionRun(b)
		numA, errA := strconv.ParseUint(runA, 10, 64)
		numB, errB := strconv.ParseUint(runB, 10, 64)
		order := cmp.Compare(runA, runB)
		if errA == nil && errB == nil {
			order = cmp.Compare(numA, numB)
		}
		if order != 0 {
			return order
		}
		a, b = a[len(runA):], b[len(runB):]
	}
	return cmp.Compare(len(a), len(b))
}

func isDigit(r rune) bool { return '0' <= r && r <= '9' }

// versionRun returns the digits at the start of a text, or the text before its first digit.
func versionRun(text string) string {
	end := strings.IndexFunc(text, func(r rune) bool { return isDigit(r) != isDigit(rune(text[0])) })
	if end < 0 {
		return text
	}
	return text[:end]
}

// Outdated tells which versions of Syncthing are older than the newest that devices run. A release is compared with
// the newest release, because a candidate is no release that people wait for. A candidate is compared with the newest
// release and the newest candidate.
type Outdated struct {
	Newest          string   // the newest release; "" if no device runs a release
	NewestCandidate string   // the newest candidate that is newer than Newest; "" without one
	Versions        []string // the outdated versions, oldest first
}

// OutdatedAmong compares the versions of devices. A text that is no version is never outdated.
func OutdatedAmong(devicesByVersion map[string]int) (out Outdated) {
	known := slices.SortedFunc(maps.Keys(devicesByVersion), CompareVersions)
	known = slices.DeleteFunc(known, func(text string) bool { return !IsVersion(text) })
	var release, candidate syncthingVersion
	for _, text := range known {
		if v, _ := readVersion(text); v.isCandidate {
			out.NewestCandidate, candidate = text, v
		} else if out.Newest == "" || release.compare(v) < 0 {
			out.Newest, release = text, v
		}
	}
	if out.Newest != "" && candidate.compare(release) < 0 {
		out.NewestCandidate, candidate = "", release
	}
	for _, text := range known {
		v, _ := readVersion(text)
		isBehindRelease := out.Newest != "" && v.compare(release) < 0
		if isBehindRelease || v.isCandidate && v.compare(candidate) < 0 {
			out.Versions = append(out.Versions, text)
		}
	}
	return out
}
