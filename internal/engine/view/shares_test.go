package view

import (
	"context"
	"errors"
	"testing"

	"muster/internal/fleet"
)

// slowShares are configurations that take until the test lets them be read.
type slowShares struct {
	Shares
	begun, read chan struct{}
}

func (s slowShares) DeviceShares(context.Context, fleet.DeviceID, func(fleet.FolderShare) bool) (string, error) {
	close(s.begun)
	<-s.read
	return "a", nil
}

func TestAReaderOfSharesWhoLeavesDoesNotWait(t *testing.T) {
	w, registry := newWorld(), registryOf(idA)
	w.put(idA, fleet.State{Connection: fleet.Online}, fleet.Snapshot{Digest: "a"})
	v, slow := w.view(), slowShares{begun: make(chan struct{}), read: make(chan struct{})}
	v.Shares = slow
	show := func(Source, func() []OneSidedShare) error { return nil }
	first := make(chan error)
	go func() { first <- v.OneSidedShares(t.Context(), registry, registry, show) }()
	<-slow.begun
	ctx, leave := context.WithCancel(t.Context())
	leave()
	if err := v.OneSidedShares(ctx, registry, registry, show); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(slow.read)
	if err := <-first; err != nil {
		t.Error(err)
	}
}
