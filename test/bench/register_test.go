package bench

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"muster/test/server"
)

const writers = 64

// BenchmarkRegister registers the whole fleet over the API, each device acknowledged after it is on disk, while those
// that are already registered are contacted. Beside it: how often this disk can make a small write durable, one after
// the other, and a bare net/http handler that keeps nothing.
func BenchmarkRegister(b *testing.B) {
	for b.Loop() {
		_, places := startFarm(b)
		s := server.Start(b, server.Options{})
		host := strings.TrimPrefix(s.URL, "http://")
		requests := make([][]byte, len(places))
		for i, d := range places {
			body, err := json.Marshal(map[string]any{"label": d.Host, "apiKey": d.Key, "apiAddress": d.Host, "apiPort": d.Port})
			if err != nil {
				b.Fatal(err)
			}
			requests[i] = requestOf("PUT", host, "/api/v1/devices/"+string(d.ID), s.Token, "", body)
		}
		before := usageOf(b, s.PID()).cpu
		var took time.Duration
		profile(b, s, "register", func() {
			took = load{host, writers}.run(b, len(places), http.StatusCreated, func(i int) []byte { return requests[i] })
		})
		cpu := usageOf(b, s.PID()).cpu - before
		s.Kill() // what was acknowledged is there afterwards
		s = server.Start(b, server.Options{Home: s.Home})
		body, _ := fetch(b, s, "/api/v1/devices")
		var kept []json.RawMessage
		if err := json.Unmarshal(body, &kept); err != nil || len(kept) != len(places) {
			b.Fatalf("%d of %d acknowledged devices are there after a kill (%v)", len(kept), len(places), err)
		}
		s.Stop()

		rate, syncs, bare := float64(len(places))/took.Seconds(), syncsASecond(b), bareWrites(b, requests)
		judge(rate >= 3000, "registering %d devices over the API by %d at a time: %.0f a second, all there after a kill "+
			"(goal: at least 3000); %.2f ms of processor time each",
			len(places), writers, rate, float64(cpu.Microseconds())/1000/float64(len(places)))
		say("yardsticks: this disk makes %.0f small writes a second durable one by one; a bare handler that keeps nothing "+
			"takes %.0f a second\n", syncs, bare)
	}
}

// syncsASecond appends a page and waits for the disk, again and again.
func syncsASecond(b *testing.B) float64 {
	b.Helper()
	file, err := os.Create(filepath.Join(b.TempDir(), "synced"))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	page, n, began := make([]byte, 4096), 0, time.Now()
	for time.Since(began) < time.Second {
		if _, err := file.Write(page); err != nil {
			b.Fatal(err)
		}
		if err := file.Sync(); err != nil {
			b.Fatal(err)
		}
		n++
	}
	return float64(n) / time.Since(began).Seconds()
}

// bareWrites sends the same requests to a handler that answers them at once.
func bareWrites(b *testing.B, requests [][]byte) float64 {
	b.Helper()
	plain, err := startChild("plain")
	if err != nil {
		b.Fatal(err)
	}
	defer plain.stop()
	var ready plainOutcome
	for _, request := range requests {
		path := strings.Fields(string(request[:200]))[1]
		plain.ask(b, plainOrder{Path: path, Body: request}, &ready)
	}
	took := load{ready.Address, writers}.run(b, len(requests), http.StatusOK, func(i int) []byte { return requests[i] })
	return float64(len(requests)) / took.Seconds()
}
