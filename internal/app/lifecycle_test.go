package app

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
)

func TestStopRunsEveryStepOnceInReverseOrderAlsoAfterAFailure(t *testing.T) {
	l := &lifecycle{log: slog.New(slog.DiscardHandler)}
	var got []string
	broken := errors.New("broken")
	for _, name := range []string{"first", "second", "third"} {
		l.onStop(name, func(context.Context) error {
			got = append(got, name)
			if name == "second" {
				return broken
			}
			return nil
		})
	}
	if err := l.stop(t.Context()); !errors.Is(err, broken) {
		t.Errorf("got %v, want the failure of the second step", err)
	}
	if want := []string{"third", "second", "first"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if err := l.stop(t.Context()); err != nil || len(got) != 3 {
		t.Errorf("a second stop ran steps again: %v, %v", got, err)
	}
}

func TestStopGivesUpOnAPartThatDoesNotEnd(t *testing.T) {
	l := &lifecycle{log: slog.New(slog.DiscardHandler)}
	release := make(chan struct{})
	l.background("stubborn", func(context.Context) error { <-release; return nil }, func(error) {})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := l.stop(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the deadline's error", err)
	}
	close(release)
}

func TestAPartThatEndsByItselfIsReported(t *testing.T) {
	l := &lifecycle{log: slog.New(slog.DiscardHandler)}
	failed := make(chan error, 1)
	l.background("fragile", func(context.Context) error { return errors.New("no more") },
		func(err error) { failed <- err })
	if err := <-failed; err == nil {
		t.Error("the failure was lost")
	}
	if err := l.stop(t.Context()); err != nil {
		t.Error(err)
	}
}
