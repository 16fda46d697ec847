package fleet

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Author keys are keys of a configuration that templates of authors may set without asking, besides what every author
// may. A key covers everything below it, and `*` means every member of a list.

const (
	MaxAuthorKeys     = 100
	MaxAuthorKeyBytes = 500
)

// ParseAuthorKeys checks a list of author keys and gives it sorted, each once. Whether a key can be read is checked
// where keys are known.
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

// AuthorKeysOf gives the author keys of a device: those of the fleet and those of its tags, sorted.
func (r *Registry) AuthorKeysOf(id DeviceID) []string { return r.ofDevice(r.AuthorKeys, id) }

// ofDevice gives what holds for the whole fleet and what the tags of a device add to it, sorted.
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
