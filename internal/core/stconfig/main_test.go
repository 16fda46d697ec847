package stconfig

import (
	"flag"
	"os"
	"testing"
)

// TestMain raises rapid's default of 100 cases; -rapid.checks on the command line still wins.
func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", "1000"); err != nil {
		panic(err)
	}
	flag.Parse()
	os.Exit(m.Run())
}
