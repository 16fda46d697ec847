// Package scale_test holds what starts thousands of daemons, or hundreds of servers, and is therefore run without the
// race detector.
package scale_test

import (
	"os"
	"testing"

	"muster/test/server"
)

func TestMain(m *testing.M) {
	server.Main()
	os.Exit(m.Run())
}

// soaking tells whether `make soak` runs: full counts, no time limit.
func soaking() bool { return os.Getenv("MUSTER_SOAK") != "" }
