package bench

import (
	"net/http"
	"testing"
	"time"

	"muster/test/server"
)

// BenchmarkStart starts a server that knows the whole fleet already.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		_, places := startFarm(b)
		s := server.Start(b, server.Options{Home: seedHome(b, places)})
		waitOnline(b, s, len(places))
		awaitIdle(b, s)
		s.Stop()

		bare := took(func() {
			c := startBare(b)
			var done bareOutcome
			c.ask(b, bareOrder{Do: "count"}, &done)
			c.stop()
		})
		began := time.Now()
		s = server.Start(b, server.Options{Home: s.Home})
		ready := time.Since(began)
		missing := 0
		// the last known values, of daemons that were not contacted yet
		for i := 0; i < len(places); i += max(1, len(places)/100) {
			if status(b, s, "/api/v1/devices/"+string(places[i].ID)+"/status") != http.StatusOK {
				missing++
			}
		}
		answered := time.Since(began)
		profile(b, s, "start", func() { waitOnline(b, s, len(places)) })
		all := time.Since(began)
		judge(ready < 3*time.Second && missing == 0,
			"start with %d known devices: the API is ready after %.2f s, a hundred last known values were read after %.2f s, "+
				"%d missing (goal: under 3 s); a bare process is there after %.2f s",
			len(places), ready.Seconds(), answered.Seconds(), missing, bare.Seconds())
		judge(all < time.Minute, "all are watched after %.1f s (goal: within a minute; at 200 new connections a second it "+
			"takes %.0f s)\n", all.Seconds(), float64(len(places))/200)
		s.Stop()
	}
}

func status(b *testing.B, s *server.Server, path string) int {
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
	_ = response.Body.Close()
	return response.StatusCode
}
