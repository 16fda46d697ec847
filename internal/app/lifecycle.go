package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"muster/internal/logkey"
)

// lifecycle collects the named steps that stop what was started. They run in reverse order. A step that fails does not
// prevent the next one, and a second run does nothing.
type lifecycle struct {
	log *slog.Logger

	mu    sync.Mutex
	steps []step // guarded by mu
}

type step struct {
	name string
	stop func(context.Context) error
}

func (l *lifecycle) onStop(name string, stop func(context.Context) error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steps = append(l.steps, step{name, stop})
}

// background runs a long-running part. Its stop step cancels the part and waits for it. failed is called when the part
// ends by itself.
func (l *lifecycle) background(name string, run func(context.Context) error, failed func(error)) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := run(ctx); ctx.Err() == nil {
			failed(fmt.Errorf("%s ended by itself: %w", name, err))
		}
	}()
	l.onStop(name, func(stopping context.Context) error {
		cancel()
		select {
		case <-done:
			return nil
		case <-stopping.Done():
			return stopping.Err()
		}
	})
}

func (l *lifecycle) stop(ctx context.Context) error {
	l.mu.Lock()
	steps := l.steps
	l.steps = nil
	l.mu.Unlock()
	var errs []error
	for _, s := range slices.Backward(steps) {
		began := time.Now()
		err := s.stop(ctx)
		if err != nil {
			errs = append(errs, fmt.Errorf("stop %s: %w", s.name, err))
		}
		l.log.Debug("stopped", logkey.Step, s.name, logkey.Took, time.Since(began), logkey.Err(err))
	}
	return errors.Join(errs...)
}
