package rollout

import (
	"fmt"
	"strconv"
	"strings"

	"muster/internal/fleet"
)

// Limit is a number of devices, or a share of the fleet. Zero means none.
type Limit struct {
	Devices int
	Percent float64
}

// ParseLimit takes "N" or "N%"; "" is no limit.
func ParseLimit(s string) (Limit, error) {
	wrong := fleet.Invalidf("blast-limit", "%q is no limit: give a number of devices, like 50, or a share of the fleet, like 10%%", s)
	number, share := strings.CutSuffix(strings.TrimSpace(s), "%")
	if s == "" {
		return Limit{}, nil
	}
	if share {
		percent, err := strconv.ParseFloat(number, 64)
		if err != nil || !(percent > 0 && percent <= 100) {
			return Limit{}, wrong
		}
		return Limit{Percent: percent}, nil
	}
	devices, err := strconv.Atoi(number)
	if err != nil || devices < 1 {
		return Limit{}, wrong
	}
	return Limit{Devices: devices}, nil
}

// Exceeded tells whether so many devices of a fleet are more than the limit allows.
func (l Limit) Exceeded(devices, all int) bool {
	switch {
	case l.Devices > 0:
		return devices > l.Devices
	case l.Percent > 0:
		return float64(devices)*100 > l.Percent*float64(all)
	}
	return false
}

func (l Limit) String() string {
	if l.Percent > 0 {
		return fmt.Sprintf("%g%%", l.Percent)
	}
	return strconv.Itoa(l.Devices)
}
