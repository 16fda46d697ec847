//go:build !race

package sandbox

const raceShare = 1
