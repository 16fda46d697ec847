package fleet

import "time"

// MaxQuietAfter is the longest time that a device may be set to be unreachable before that counts as trouble.
const MaxQuietAfter = 365 * 24 * time.Hour

// ValidateQuietAfter checks the time that a device may be unreachable before that counts as trouble. 0 means the
// default.
func ValidateQuietAfter(quiet time.Duration) error {
	if quiet < 0 || quiet > MaxQuietAfter {
		return Invalidf("quietAfter", "quietAfter is a number of seconds from 0 to %d", MaxQuietAfter/time.Second)
	}
	return nil
}

// QuietAfter returns how long a device may be unreachable before that counts as trouble: its own setting, else the
// longest of its tags' settings. 0 means that none is set.
func (r *Registry) QuietAfter(id DeviceID) (longest time.Duration) {
	device := r.Devices[id]
	switch {
	case device == nil:
		return 0
	case device.Settings.QuietAfter > 0:
		return device.Settings.QuietAfter
	}
	for _, tag := range device.Tags {
		longest = max(longest, r.TagQuiet[tag])
	}
	return longest
}
