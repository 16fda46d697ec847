package hostile

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"testing"

	"muster/client"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/wait"
)

// TestConnectingLeavesNothingBehind: daemons come and go, gently and not, and the server holds afterwards what it held
// before.
func TestConnectingLeavesNothingBehind(t *testing.T) {
	daemons, rounds := 50, 2 // a daemon that goes often is waited for longer and longer
	if os.Getenv("MUSTER_SOAK") != "" {
		daemons, rounds = 250, 4
	}
	farm := newFarm(t, daemons)
	s := server.Start(t, server.Options{})
	for _, d := range farm.Daemons() {
		s.Register(d.ID(), d.APIKey(), d.Host(), d.Port())
	}
	waitOnline(t, s, daemons)
	comeAndGo(t, s, farm, 0) // the first time, the server opens more of its database
	before := holdings(t, s)
	for round := range rounds {
		comeAndGo(t, s, farm, round)
	}
	var after held
	wait.Until(t, func() string {
		if after = holdings(t, s); after.goroutines > before.goroutines || after.files > before.files {
			return fmt.Sprintf("%d goroutines and %d descriptors, %d and %d before", after.goroutines, after.files,
				before.goroutines, before.files)
		}
		return ""
	})
	t.Logf("%d connections made and lost: %d goroutines and %d descriptors, %d and %d before",
		rounds*daemons, after.goroutines, after.files, before.goroutines, before.files)
	s.Stop()
}

func comeAndGo(t *testing.T, s *server.Server, farm *stsim.Farm, round int) {
	t.Helper()
	var ended sync.WaitGroup // a gentle end takes a while
	for i, d := range farm.Daemons() {
		if (i+round)%2 == 0 {
			ended.Go(d.Crash)
		} else {
			ended.Go(d.Stop)
		}
	}
	ended.Wait()
	waitOnline(t, s, 0)
	for _, d := range farm.Daemons() {
		if err := d.Start(); err != nil {
			t.Fatal(err)
		}
	}
	waitOnline(t, s, len(farm.Daemons()))
}

func waitOnline(t *testing.T, s *server.Server, want int) {
	t.Helper()
	wait.Until(t, func() string {
		states, err := s.Client.States(t.Context(), client.List{})
		if err != nil {
			return err.Error()
		}
		online := 0
		for _, state := range states {
			if state.Connection == string(fleet.Online) {
				online++
			}
		}
		if online != want {
			return fmt.Sprintf("%d daemons are online, want %d", online, want)
		}
		return ""
	})
}

// held is what a process holds.
type held struct{ goroutines, files int }

// holdings asks the server's own metrics; the question takes a connection and its goroutines every time.
func holdings(t *testing.T, s *server.Server) held {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.Token)
	http.DefaultClient.CloseIdleConnections()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return held{metric(t, text, "go_goroutines"), metric(t, text, "process_open_fds")}
}

func metric(t *testing.T, text []byte, name string) int {
	t.Helper()
	for line := range bytes.Lines(text) {
		if value, ok := bytes.CutPrefix(line, []byte(name+" ")); ok {
			n, err := strconv.ParseFloat(string(bytes.TrimSpace(value)), 64)
			if err != nil {
				t.Fatal(err)
			}
			return int(n)
		}
	}
	t.Fatalf("the server has no metric %s", name)
	return 0
}
