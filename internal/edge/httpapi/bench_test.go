package httpapi

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"muster/internal/edge/auth"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

type fixedRegistry struct{ registry *fleet.Registry }

func (f fixedRegistry) Registry(context.Context) (*fleet.Registry, error) { return f.registry, nil }

type everybody struct{}

func (everybody) Authenticate(*http.Request) (auth.Principal, error) {
	return auth.Principal{Name: "bench", Role: fleet.RoleAdmin}, nil
}

func bigFleet(size int) *fleet.Registry {
	registry := &fleet.Registry{Devices: map[fleet.DeviceID]*fleet.Registered{}}
	for i := range size {
		id := fleet.DeviceIDOf([32]byte{byte(i), byte(i >> 8)})
		registry.Devices[id] = &fleet.Registered{Device: fleet.Device{
			ID: id, Label: fmt.Sprintf("device %d", i), APIKey: fleet.NewSecret(key), APIPort: 8384, CreatedAt: time.Now(),
			UpdatedAt: time.Now(),
		}, Tags: []fleet.Tag{"all"}}
	}
	return registry
}

// steady is a fleet that stands still.
type steady struct{ state fleet.State }

func (s steady) State(context.Context, fleet.DeviceID) (fleet.State, error) { return s.state, nil }

// manyFolders plays a fleet in which every device has two folders of its own.
func manyFolders(id fleet.DeviceID) *fleet.Snapshot {
	return &fleet.Snapshot{Device: id, Connection: fleet.Online, Folders: []fleet.FolderLabel{
		{Folder: "photos-" + string(id), Label: "Photos"}, {Folder: "scans-" + string(id), Label: "Scans"}}}
}

// BenchmarkReads puts the API's reads with 10,000 devices beside a bare net/http handler that writes the same bytes.
func BenchmarkReads(b *testing.B) {
	registry := bigFleet(10_000)
	states := steady{fleet.State{Connection: fleet.Online, Configuration: fleet.ConfigInSync, LastSeen: time.Now(),
		Reason: "the daemon has what its templates ask for"}}
	v := view.New(viewOptions(states.State, manyFolders))
	summaries := summaries{Summaries: view.NewSummaries(view.SummaryOptions{View: v,
		Registry: func(context.Context) (*fleet.Registry, error) { return registry, nil }})}
	made := setup{Options: Options{Log: slog.New(slog.DiscardHandler), Auth: everybody{}, Answers: v,
		Registry: fleet.ScopedRegistry{Whole: fixedRegistry{registry}}},
		States: states, Folders: v, Inventory: v, Summaries: summaries, Stops: summaries}
	srv := made.server()
	var one fleet.DeviceID
	for one = range registry.Devices {
		break
	}
	for name, path := range map[string]string{
		"one": "/devices/" + string(one), "list of 500": "/devices?limit=500", "whole list": "/devices",
		"folders": "/folders", "states": "/states", "inventory": "/inventory",
		"overview": "/overview", "waiting": "/waiting",
	} {
		rec := httptest.NewRecorder()
		srv.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "http://localhost"+Prefix+path, nil))
		prepared := rec.Body.Bytes()
		bare := http.NewServeMux()
		bare.HandleFunc("GET "+Prefix+"/", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", strconv.Itoa(len(prepared)))
			_, _ = w.Write(prepared)
		})
		b.Run(name+"/bare", func(b *testing.B) { load(b, bare, path, "") })
		b.Run(name+"/muster", func(b *testing.B) { load(b, srv, path, "") })
		b.Run(name+"/unchanged", func(b *testing.B) { load(b, srv, path, rec.Header().Get("ETag")) })
	}
}

func load(b *testing.B, handler http.Handler, path, etag string) {
	srv := httptest.NewServer(handler)
	defer srv.Close()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, srv.URL+Prefix+path, nil)
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer x")
	if etag != "" {
		r.Header.Set("If-None-Match", etag)
	}
	for b.Loop() {
		resp, err := srv.Client().Do(r)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			b.Fatal(err)
		}
		_ = resp.Body.Close()
	}
}
