package fleet

import (
	"fmt"
	"strconv"
	"strings"
)

// Threshold is a number of devices, or a share of the fleet. Zero means that there is no threshold.
type Threshold struct {
	Devices int
	Percent float64
}

// NoThreshold is the text of the zero Threshold.
const NoThreshold = "none"

// ParseThreshold reads "N" or "N%"; "" and "none" give the zero Threshold.
func ParseThreshold(s string) (Threshold, error) {
	wrong := Invalidf("approval-threshold",
		"%q is no threshold: give a number of devices, like 50, a share of the fleet, like 10%%, or none", s)
	number, share := strings.CutSuffix(strings.TrimSpace(s), "%")
	if number == "" && !share || s == NoThreshold {
		return Threshold{}, nil
	}
	if share {
		percent, err := strconv.ParseFloat(number, 64)
		if err != nil || !(percent > 0 && percent <= 100) {
			return Threshold{}, wrong
		}
		return Threshold{Percent: percent}, nil
	}
	devices, err := strconv.Atoi(number)
	if err != nil || devices < 1 {
		return Threshold{}, wrong
	}
	return Threshold{Devices: devices}, nil
}

// Exceeded reports whether this number of devices, in a fleet of all devices, is more than the threshold.
func (t Threshold) Exceeded(devices, all int) bool {
	switch {
	case t.Devices > 0:
		return devices > t.Devices
	case t.Percent > 0:
		return float64(devices)*100 > t.Percent*float64(all)
	}
	return false
}

func (t Threshold) String() string {
	switch {
	case t.Percent > 0:
		return fmt.Sprintf("%g%%", t.Percent)
	case t.Devices > 0:
		return strconv.Itoa(t.Devices)
	}
	return NoThreshold
}

// isStricterThan reports whether other may let a rollout go without approval that t would hold. A number and a share
// cannot be compared, so a change between them counts as looser.
func (t Threshold) isStricterThan(other Threshold) bool {
	switch {
	case t == other || t == (Threshold{}):
		return false
	case t.Devices > 0 && other.Devices > 0:
		return t.Devices < other.Devices
	case t.Percent > 0 && other.Percent > 0:
		return t.Percent < other.Percent
	}
	return true
}
