// Package writer_test lets Muster write to a real daemon and compares every change of its configuration with the plan,
// both alone and while a person edits the same configuration.
//
// Writes beside a person run with the race detector; writes that come one after the other run without it.
//
//muster:needs daemons
//muster:test -skip=NothingBut|FullDisk
//muster:test -race=false -run=NothingBut|FullDisk
//muster:soak
package writer_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"muster/internal/core/stconfig"
	"muster/test/daemon"
	"muster/test/server"
)

func TestMain(m *testing.M) {
	server.Main()
	os.Exit(m.Run())
}

// rounds is how often something random is tried: all with `make soak`.
func rounds(short, soak int) int {
	if os.Getenv("MUSTER_SOAK") != "" {
		return soak
	}
	return short
}

// random is another sequence at every run; MUSTER_SEED repeats one.
func random(t *testing.T) *rand.Rand {
	seed := rand.Uint64()
	if text := os.Getenv("MUSTER_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("MUSTER_SEED=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// Devices that nobody runs.
const (
	peerA = "P56IOI7-MZJNU2Y-IQGDREY-DM2MGTI-MGL3BXN-PQ6W5BM-TBBZ4TJ-XZWICQ2"
	peerB = "AIR6LPZ-7K4PTTV-UXQSMUU-CPQ5YWH-OEDFIIQ-JUG777G-2YQXXR5-YD6AWQR"
	peerC = "GYRZZQB-IRNPV4Z-T7TC52W-EQYJ3TT-FDQW6MW-DFLMU42-SSSU6EM-FBK2VAY"
)

// config is the daemon's configuration as it is now.
func config(t *testing.T, d *daemon.Daemon) stconfig.Value {
	t.Helper()
	return parse(t, d.Get("/rest/config"))
}

func parse(t *testing.T, json []byte) stconfig.Value {
	t.Helper()
	v, err := stconfig.Parse(json)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func keyOf(t *testing.T, text string) stconfig.Key {
	t.Helper()
	key, err := stconfig.ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// shown is a value for a message.
func shown(v stconfig.Value) string {
	if !v.Exists() {
		return "absent"
	}
	return string(v.JSON())
}
