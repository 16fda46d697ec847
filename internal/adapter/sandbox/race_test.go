//go:build race

package sandbox

// raceShare is how many bytes the race detector takes for one of the program's.
const raceShare = 8
