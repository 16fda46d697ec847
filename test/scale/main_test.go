// Package scale_test contains the tests that start hundreds of daemons or servers, thousands in `make soak`. They run
// without the race detector.
//
//muster:needs daemons quiet
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
