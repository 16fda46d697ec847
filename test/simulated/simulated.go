// Package simulated starts simulated daemons for tests. Package test/daemon starts real ones.
package simulated

import (
	"context"
	"log/slog"
	"sync"
	"testing"

	"muster/internal/stsim"
)

// Start makes a farm and starts it. The test's end closes it.
func Start(t testing.TB, o stsim.Options) *stsim.Farm {
	t.Helper()
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	farm, err := stsim.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := farm.Close(); err != nil {
			t.Errorf("close the simulated daemons: %v", err)
		}
	})
	if err := farm.Start(); err != nil {
		t.Fatal(err)
	}
	return farm
}

// RunAgents runs one agent (Daemon.RunAgent) or those of a farm (Farm.RunAgents) against a server at HOST:PORT. They
// end with stop, and with the test.
func RunAgents(t testing.TB, run func(ctx context.Context, server string) error, server string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	all.Go(func() { _ = run(ctx, server) })
	stop = func() { cancel(); all.Wait() }
	t.Cleanup(stop)
	return stop
}

// Restart stops a daemon and starts it again: events and start time begin anew.
func Restart(d *stsim.Daemon) error {
	d.Stop()
	return d.Start()
}
