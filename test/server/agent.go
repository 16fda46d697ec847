package server

import (
	"context"
	"testing"

	"muster/internal/adapter/agent"
)

// StartAgent runs an agent until stop is called, which waits for its end.
func StartAgent(t testing.TB, o agent.Options) (stop func()) {
	t.Helper()
	a, err := agent.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = a.Run(ctx)
	}()
	return func() { cancel(); <-ended }
}
