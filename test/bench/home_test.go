package bench

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"muster/test/server"
	"muster/test/wait"
)

const homeReads = 300

// homePaths are what the first page of the console asks for.
var homePaths = []string{"/api/v1/overview", "/api/v1/waiting"}

// BenchmarkHome: the whole fleet is followed, and a twentieth of it comes into trouble: folders stop, and items fail.
// The first page is read before and after, and so are processor time and memory at rest. The yardstick
// is a bare net/http handler that writes as many prepared bytes.
func BenchmarkHome(b *testing.B) {
	for b.Loop() {
		sim, places := startFarm(b)
		s := server.Start(b, server.Options{Home: seedHome(b, places), TroubleAfter: time.Second})
		waitOnline(b, s, len(places))
		awaitIdle(b, s)
		plain, err := startChild("plain")
		if err != nil {
			b.Fatal(err)
		}
		calm, rest := readHome(b, s, plain), restOf(b, s.PID())

		troubled := max(len(places)/20, 1)
		sim.ask(b, order{Do: "break", On: true, Number: int64(troubled)}, &outcome{})
		waitTroubled(b, s, troubled)
		awaitIdle(b, s)
		worse, after := readHome(b, s, plain), restOf(b, s.PID())
		sim.ask(b, order{Do: "break", Number: int64(troubled)}, &outcome{})
		waitTroubled(b, s, 0)

		for i, path := range homePaths {
			say("GET %s of %d devices: %v; with %d in trouble: %v, %.1f times as long as before", path, len(places), calm[i],
				troubled, worse[i], ratio(worse[i].each, calm[i].each))
			judge(worse[i].each < 100*time.Millisecond, "GET %s with %d in trouble: %v, bare handler %v (goal: under 100 ms)",
				path, troubled, worse[i].each, worse[i].bare)
		}
		judge(
			after.cores < rest.cores*1.1+0.01,
			"at rest with %d in trouble: %.3f cores, %.3f before (goal: at most 10 %% more)",
			troubled,
			after.cores,
			rest.cores,
		)
		judge(after.resident-rest.resident < int64(farmFolders()*len(places)*256),
			"memory with %d in trouble: %s a device, %s before (goal: at most 256 bytes more for a folder)", troubled,
			perDevice(after.resident), perDevice(rest.resident))
		plain.stop()
		s.Stop()
	}
}

// reading is what one request takes.
type reading struct {
	each, bare time.Duration
	bytes      int
}

func (r reading) String() string {
	return fmt.Sprintf("%v (bare handler %v, %d bytes)", r.each, r.bare, r.bytes)
}

// readHome reads what the first page asks for.
func readHome(b *testing.B, s *server.Server, plain *child) (all []reading) {
	b.Helper()
	host := strings.TrimPrefix(s.URL, "http://")
	for _, path := range homePaths {
		body, _ := fetch(b, s, path)
		var ready plainOutcome
		plain.ask(b, plainOrder{Path: path, Body: body}, &ready)
		ours := requestOf("GET", host, path, s.Token, "", nil)
		bare := requestOf("GET", ready.Address, path, s.Token, "", nil)
		took := load{host, 2}.run(b, homeReads, http.StatusOK, func(int) []byte { return ours })
		yardstick := load{ready.Address, 2}.run(b, homeReads, http.StatusOK, func(int) []byte { return bare })
		all = append(all, reading{took / homeReads, yardstick / homeReads, len(body)})
	}
	return all
}

// waitTroubled waits until so many devices are in trouble.
func waitTroubled(b *testing.B, s *server.Server, want int) {
	b.Helper()
	wait.Until(b, func() string {
		overview, err := s.Client.Overview(b.Context())
		if err == nil && overview.Troubled == want {
			return ""
		}
		return fmt.Sprintf("%d devices are in trouble, want %d; %v", overview.Troubled, want, err)
	})
}
