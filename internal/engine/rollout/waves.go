package rollout

import (
	"strconv"
	"strings"

	"muster/internal/fleet"
)

const rest = fleet.RestOfWave

// accessWaves are the waves of changes of how a daemon's API is reached: a daemon that is out of reach then cannot be
// corrected.
var accessWaves = []string{"1", rest}

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
			size, _ = strconv.Atoi(number) // fleet.CheckWaves has checked it.
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
