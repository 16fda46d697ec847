package fleet

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Author keys are keys of a configuration that templates of authors may set without consent, in addition to those that
// every author may set. A key covers everything below it, and `*` means every member of a list.

const (
	MaxAuthorKeys     = 100
	MaxAuthorKeyBytes = 500
)

// ParseAuthorKeys checks the size of a list of author keys and returns it sorted, without duplicates. stconfig checks
// the grammar of the keys.
func ParseAuthorKeys(keys []string) ([]string, error) {
	if len(keys) > MaxAuthorKeys {
		return nil, Invalidf("authorKeys", "there are at most %d author keys, these are %d", MaxAuthorKeys, len(keys))
	}
	for _, key := range keys {
		switch {
		case strings.TrimSpace(key) == "":
			return nil, Invalidf("authorKeys", "an author key is not blank: that would be the whole configuration")
		case len(key) > MaxAuthorKeyBytes:
			return nil, Invalidf(
				"authorKeys",
				"an author key has at most %d bytes, this one has %d",
				MaxAuthorKeyBytes,
				len(key),
			)
		case !utf8.ValidString(key) || strings.ContainsFunc(key, unicode.IsControl):
			return nil, Invalidf("authorKeys", "an author key is UTF-8 text without control characters")
		}
	}
	sorted := slices.Clone(keys)
	slices.Sort(sorted)
	return slices.Compact(sorted), nil
}

// AuthorKeysOf returns the author keys of a device: those of the fleet and those of its tags, sorted.
func (r *Registry) AuthorKeysOf(id DeviceID) []string { return r.ofDevice(r.AuthorKeys, id) }

// ofDevice joins the texts of the whole fleet, whose tag is "", and those of a device's tags, sorted.
func (r *Registry) ofDevice(all map[Tag][]string, id DeviceID) []string {
	found := slices.Clone(all[""])
	if device := r.Devices[id]; device != nil {
		for _, tag := range device.Tags {
			found = append(found, all[tag]...)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
