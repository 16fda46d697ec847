package rollout

import (
	"fmt"
	"strconv"
	"strings"

	"muster/internal/fleet"
)

// Threshold is a number of devices, or a share of the fleet. Zero means that there is no threshold.
type Threshold struct {
	Devices int
	Percent float64
}

// ParseThreshold reads "N" or "N%"; "" gives the zero Threshold.
func ParseThreshold(s string) (Threshold, error) {
	wrong := fleet.Invalidf("approval-threshold",
		"%q is no threshold: give a number of devices, like 50, or a share of the fleet, like 10%%", s)
	number, share := strings.CutSuffix(strings.TrimSpace(s), "%")
	if s == "" {
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
	if t.Percent > 0 {
		return fmt.Sprintf("%g%%", t.Percent)
	}
	return strconv.Itoa(t.Devices)
}

// reason returns, for a person, why a rollout over n devices waits for approval.
func (t Threshold) reason(n int) string {
	return fmt.Sprintf("this change touches %s, more than the approval threshold of %v (--approval-threshold)",
		devices(n), t)
}
