package bench

import (
	"net/http"
	"strings"
	"testing"

	"muster/test/server"
	"muster/test/wait"
)

const (
	rowsASecond    = 100 // that become others while the inventory is read
	inventoryReads = 300
)

// BenchmarkInventory: the whole fleet is followed, and the inventory of all devices is read while a hundred of them a
// second change. The yardstick is a bare net/http handler that writes as many prepared bytes meanwhile.
func BenchmarkInventory(b *testing.B) {
	for b.Loop() {
		sim, places := startFarm(b)
		s := server.Start(b, server.Options{Home: seedHome(b, places)})
		waitOnline(b, s, len(places))
		awaitIdle(b, s)
		plain, err := startChild("plain")
		if err != nil {
			b.Fatal(err)
		}
		const path = "/api/v1/inventory"
		body, etag := fetch(b, s, path)
		var ready plainOutcome
		plain.ask(b, plainOrder{Path: path, Body: body}, &ready)
		host := strings.TrimPrefix(s.URL, "http://")
		ours := requestOf("GET", host, path, s.Token, "", nil)
		bare := requestOf("GET", ready.Address, path, s.Token, "", nil)

		sim.ask(b, order{Do: "lack", On: true, Number: rowsASecond}, &outcome{})
		wait.Until(b, func() string {
			if _, now := fetch(b, s, path); now == etag {
				return "no row changed"
			}
			return ""
		})
		took := load{host, 2}.run(b, inventoryReads, http.StatusOK, func(int) []byte { return ours })
		yardstick := load{ready.Address, 2}.run(b, inventoryReads, http.StatusOK, func(int) []byte { return bare })
		sim.ask(b, order{Do: "lack"}, &outcome{})

		rate := inventoryReads / took.Seconds()
		judge(
			rate >= 20,
			"the inventory of %d devices, %d bytes, while %d a second change: %.0f reads a second, bare handler "+
				"%.0f: %.2f of it (goal: at least 20 a second)",
			len(places),
			len(body),
			rowsASecond,
			rate,
			inventoryReads/yardstick.Seconds(),
			ratio(yardstick, took),
		)
		plain.stop()
		s.Stop()
	}
}
