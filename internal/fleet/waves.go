package fleet

import (
	"slices"
	"strconv"
	"strings"
)

// RestOfWave is the wave of the members that are left.
const RestOfWave = "rest"

// DefaultWaves are one device, a tenth of all, and the rest.
var DefaultWaves = []string{"1", "10%", RestOfWave}

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
	if len(waves) == 0 || len(waves) > maxWaves || waves[len(waves)-1] != RestOfWave {
		return Invalidf("waves", "waves are a list that ends with \"rest\", like 1,10%%,rest")
	}
	for _, wave := range waves[:len(waves)-1] {
		number, share := strings.CutSuffix(wave, "%")
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 || share && n > 100 {
			return Invalidf("waves",
				"%q is no wave: give a number of devices, like 5, or a share of the members, like 10%%", wave)
		}
	}
	return nil
}
