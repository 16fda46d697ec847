//go:build !race

package plan_test

// sampled is the part of a large matrix that a test goes through: all of it.
const sampled = 1
