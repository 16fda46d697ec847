package bench

import (
	"cmp"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
	"muster/test/server"
)

const (
	readers    = 8
	readRounds = 5
)

// BenchmarkReads: the API with the whole fleet registered, authentication and all, beside a bare net/http handler that
// writes the same prepared bytes. Nobody is watched meanwhile.
func BenchmarkReads(b *testing.B) {
	for b.Loop() {
		_, places := startFarm(b)
		s := server.Start(b, server.Options{Home: seedHome(b, places)})
		if err := s.Client.PutMode(b.Context(), string(fleet.ModePaused)); err != nil {
			b.Fatal(err)
		}
		awaitIdle(b, s)
		plain, err := startChild("plain")
		if err != nil {
			b.Fatal(err)
		}
		one := "/api/v1/devices/" + string(places[len(places)/2].ID)
		compareReads(b, s, plain, "one device", one, 0.6, 20_000)
		compareReads(b, s, plain, "its tags", one+"/tags", 0.6, 20_000)
		compareReads(b, s, plain, "a list of 500 devices", "/api/v1/devices?limit=500", 0.7, 5000)
		compareReads(b, s, plain, "the list of all devices", "/api/v1/devices", 0.7, 300)
		compareReads(b, s, plain, "the inventory of all devices", "/api/v1/inventory", 0.5, 300)
		plain.stop()
		s.Stop()
	}
}

func compareReads(b *testing.B, s *server.Server, plain *child, what, path string, goal float64, requests int) {
	b.Helper()
	body, etag := fetch(b, s, path)
	var ready plainOutcome
	plain.ask(b, plainOrder{Path: path, Body: body, ETag: etag}, &ready)
	host := strings.TrimPrefix(s.URL, "http://")
	for _, unchanged := range []bool{false, true} {
		status, known, named := http.StatusOK, "", what
		if unchanged {
			status, known, named, requests = http.StatusNotModified, etag, what+", unchanged (304)", 20_000
		}
		ours, bare := requestOf("GET", host, path, s.Token, known, nil),
			requestOf("GET", ready.Address, path, s.Token, known, nil)
		var took, yardstick []time.Duration
		for range readRounds { // in turn, so that what else the machine does meets both
			took = append(took, load{host, readers}.run(b, requests, status, func(int) []byte { return ours }))
			yardstick = append(yardstick, load{ready.Address, readers}.run(b, requests, status,
				func(int) []byte { return bare }))
		}
		share := ratio(middle(yardstick), middle(took))
		judge(share >= goal, "%s, %d bytes: Muster %.0f a second, bare handler %.0f: %.2f of it (goal: at least %.1f)",
			named, len(body),
			float64(requests)/middle(took).Seconds(), float64(requests)/middle(yardstick).Seconds(), share, goal)
	}
}

func middle[T cmp.Ordered](of []T) T {
	slices.Sort(of)
	return of[len(of)/2]
}

func fetch(b *testing.B, s *server.Server, path string) (body []byte, etag string) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, s.URL+path, nil)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.Token)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	if body, err = io.ReadAll(response.Body); err != nil || response.StatusCode != http.StatusOK {
		b.Fatalf("GET %s: %s %s %v", path, response.Status, body, err)
	}
	return body, response.Header.Get("ETag")
}
