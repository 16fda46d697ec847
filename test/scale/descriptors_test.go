package scale_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

const (
	crowd       = 600 // daemons
	crowdLimit  = 300 // open files
	crowdStream = 100 // event streams that clients try to keep open
)

// The watchers took every descriptor: the API accepted nothing, the stop switch and /healthz included, and the
// database could not be opened.
func TestMoreDaemonsThanDescriptors(t *testing.T) {
	t.Parallel()
	farm := simulated.Start(t, stsim.Options{Count: crowd, Seed: 11, Network: 71, Shared: true, Quiet: true})
	s := server.Start(t, server.Options{OpenFiles: crowdLimit})
	answers := answersThroughout(t, s)
	streams := holdStreams(t, s)
	began := time.Now()
	registerAll(t, s, farm)
	t.Logf("%d devices registered in %v", crowd, time.Since(began).Round(time.Millisecond))
	waitAllOnline(t, s)

	seen := statusReads(farm)
	wait.Until(t, func() string { // which waits for a minute
		late := 0
		for i, now := range statusReads(farm) {
			if now == seen[i] {
				late++
			}
		}
		if late > 0 {
			return fmt.Sprintf("%d of %d daemons were not visited", late, crowd)
		}
		return ""
	})
	wantShortage(t, s)
	if _, err := s.Client.SwitchMode(t.Context(), string(fleet.ModeObserve)); err != nil {
		t.Errorf("stop: %v", err)
	}
	streams()
	answers()

	home := s.Home
	s.Stop()
	s = server.Start(t, server.Options{Home: home})
	wait.Until(t, func() string {
		followed := 0
		for _, d := range farm.Daemons() {
			if d.Counters().Open > 0 {
				followed++
			}
		}
		if followed < crowd {
			return fmt.Sprintf("%d of %d daemons are followed", followed, crowd)
		}
		return ""
	})
	waitAllOnline(t, s)
	overview, err := s.Client.Overview(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if overview.Visited > 0 {
		t.Errorf("with the limit raised %d devices are still visited", overview.Visited)
	}
}

// wantShortage checks that overview, states and metrics say that not every daemon is followed, and what to raise.
func wantShortage(t *testing.T, s *server.Server) {
	t.Helper()
	wait.Until(t, func() string {
		overview, err := s.Client.Overview(t.Context())
		if err != nil {
			return err.Error()
		}
		told := slices.ContainsFunc(overview.Impairments, func(i api.Impairment) bool {
			return i.Part == string(fleet.PartDescriptors) && !i.Blocking && strings.Contains(i.Next, "LimitNOFILE=")
		})
		if !told || overview.Visited == 0 || overview.Visited >= crowd {
			return fmt.Sprintf("%d devices are visited, impairments %+v", overview.Visited, overview.Impairments)
		}
		return ""
	})
	states, err := s.Client.States(t.Context(), client.List{})
	if err != nil {
		t.Fatal(err)
	}
	visited := func(d api.ListedState) bool { return strings.Contains(d.Reason, "limit of 300 open files") }
	if !slices.ContainsFunc(states, visited) {
		t.Error("no state says that its device is visited and not followed")
	}
}

func registerAll(t *testing.T, s *server.Server, farm *stsim.Farm) {
	t.Helper()
	var group errgroup.Group
	group.SetLimit(8)
	for _, d := range farm.Daemons() {
		group.Go(func() error {
			key, address, port := d.APIKey(), d.Host(), int64(d.Port())
			device := api.PutDevice{APIKey: &key, APIAddress: &address, APIPort: &port}
			_, _, err := s.Client.PutDevice(t.Context(), string(d.ID()), device)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

func waitAllOnline(t *testing.T, s *server.Server) {
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
		if online < crowd {
			return fmt.Sprintf("%d of %d devices are online", online, crowd)
		}
		return ""
	})
}

// statusReads are how often each daemon was asked for its status.
func statusReads(farm *stsim.Farm) []int {
	reads := make([]int, 0, crowd)
	for _, d := range farm.Daemons() {
		reads = append(reads, d.Counters().ByRoute["GET /rest/system/status"])
	}
	return reads
}

// answersThroughout asks the server over new connections all the time until the function that it gives is called,
// which fails the test when an answer was missing.
func answersThroughout(t *testing.T, s *server.Server) (check func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var asked, failed atomic.Int64
	var first atomic.Value
	var asking sync.WaitGroup
	fresh := &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	for _, path := range []string{"/healthz", "/api/v1/overview", "/api/v1/tags"} {
		asking.Go(func() {
			again := time.NewTicker(20 * time.Millisecond)
			defer again.Stop()
			for ; ctx.Err() == nil; <-again.C {
				if err := get(ctx, fresh, s, path); err != nil && ctx.Err() == nil {
					failed.Add(1)
					first.CompareAndSwap(nil, fmt.Sprintf("%s: %v", path, err))
				}
				asked.Add(1)
			}
		})
	}
	return func() {
		t.Helper()
		cancel()
		asking.Wait()
		t.Logf("%d requests over connections of their own", asked.Load())
		if failed.Load() > 0 {
			t.Errorf("%d of %d requests were not answered, the first: %v", failed.Load(), asked.Load(), first.Load())
		}
	}
}

func get(ctx context.Context, from *http.Client, s *server.Server, path string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+s.Token)
	response, err := from.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("answered %s", response.Status)
	}
	return nil
}

// holdStreams keeps more event streams open than the server can have connections, as far as it lets.
func holdStreams(t *testing.T, s *server.Server) (end func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var holding sync.WaitGroup
	keeper := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for range crowdStream {
		holding.Go(func() {
			for ctx.Err() == nil {
				request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/api/v1/events", nil)
				if err != nil {
					t.Error(err)
					return
				}
				request.Header.Set("Authorization", "Bearer "+s.Token)
				response, err := keeper.Do(request)
				if err == nil {
					for lines := bufio.NewScanner(response.Body); lines.Scan(); { //nolint:revive // only kept open
					}
					response.Body.Close()
				}
				select { // as an EventSource does
				case <-time.After(2 * time.Second):
				case <-ctx.Done():
				}
			}
		})
	}
	return func() {
		cancel()
		holding.Wait()
	}
}
