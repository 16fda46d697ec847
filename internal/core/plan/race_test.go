//go:build race

package plan_test

// sampled is the part of a large matrix that a test goes through: a plan is made by one goroutine, so that the race
// detector finds nothing there and takes fifty times as long. Every run of the tests has one without it, too.
const sampled = 11
