package rollout

import (
	"slices"
	"strconv"
	"strings"

	"muster/internal/fleet"
)

const rest = "rest" // the members that are left

// DefaultWaves are one device, a tenth of all, and the rest.
var DefaultWaves = []string{"1", "10%", rest}

// accessWaves are the waves of changes of how a daemon's API is reached: a daemon that is out of reach then cannot be
// corrected.
var accessWaves = []string{"1", rest}

const maxWaves = 100

// ParseWaves reads a list like "1,10%,rest": numbers of devices, shares of all members, and at the end the rest.
func ParseWaves(text string) ([]string, error) {
	if text == "" {
		return slices.Clone(DefaultWaves), nil
	}
	waves := strings.Split(text, ",")
	for i := range waves {
		waves[i] = strings.TrimSpace(waves[i])
	}
	return waves, CheckWaves(waves)
}

// CheckWaves checks such a list.
func CheckWaves(waves []string) error {
	if len(waves) == 0 || len(waves) > maxWaves || waves[len(waves)-1] != rest {
		return fleet.Invalidf("waves", "waves are a list that ends with \"rest\", like 1,10%%,rest")
	}
	for _, wave := range waves[:len(waves)-1] {
		number, share := strings.CutSuffix(wave, "%")
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || share && n > 100 {
			return fleet.Invalidf("waves",
				"%q is no wave: give a number of devices, like 5, or a share of the members, like 10%%", wave)
		}
	}
	return nil
}

// splitWaves returns how many devices are in each wave, when `left` of `all` members are left. A share is one of all
// members, rounded up.
func splitWaves(waves []string, left, all int) []int {
	var sizes []int
	for _, wave := range waves {
		if left == 0 {
			break
		}
		size := left
		if number, share := strings.CutSuffix(wave, "%"); wave != rest {
			size, _ = strconv.Atoi(number) // CheckWaves has checked it.
			if share {
				size = (all*size + 99) / 100
			}
		}
		size = min(max(size, 1), left)
		sizes = append(sizes, size)
		left -= size
	}
	return sizes
}
