package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"muster/api"
	"muster/client"
)

// watching is how a command goes on showing something.
type watching struct {
	Watch bool `short:"w" env:"-" help:"Show it again whenever it changes, until Ctrl-C."`
}

func (w watching) watches() bool { return w.Watch }

// watcher is a command that may go on showing something.
type watcher interface {
	watches() bool
	client() (*client.Client, error)
}

// screen gathers what is shown at once.
type screen struct {
	bytes.Buffer
	of io.Writer
}

const (
	watchPause  = 500 * time.Millisecond // between two pictures of a busy fleet
	clearScreen = "\x1b[H\x1b[2J\x1b[3J"
)

// watch runs a command at once and after events, and prints what differs from the time before.
func watch(ctx context.Context, env *environment, server *client.Client, show func() error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changed, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() { ended <- follow(ctx, server, changed) }()
	shown := &screen{of: env.Out}
	last, out := "", env.Out
	for first := true; ; first = false {
		select {
		case <-changed:
		case err := <-ended:
			return err
		}
		shown.Reset()
		env.Out = shown
		err := show()
		env.Out = out
		var code exitCode
		if err != nil && !errors.As(err, &code) { // a code tells of what is shown
			return err
		}
		if text := shown.String(); first || text != last {
			if err := env.repaint(text, first); err != nil {
				return err
			}
			last = text
		}
		select {
		case <-time.After(watchPause):
		case <-ctx.Done():
		}
	}
}

// repaint puts a text in the place of the one before; where there is no terminal, below it.
func (env *environment) repaint(text string, first bool) error {
	switch {
	case terminalOf(env.Out) != nil:
		text = clearScreen + text
	case !first:
		text = "\n" + text
	}
	_, err := io.WriteString(env.Out, text)
	return err
}

// follow tells of events, and once at the beginning, until ctx ends or the server cannot be reached.
func follow(ctx context.Context, server *client.Client, changed chan<- struct{}) error {
	tell := func() {
		select {
		case changed <- struct{}{}:
		default: // it is told already
		}
	}
	for last := int64(0); ; {
		var err error
		last, err = server.Events(ctx, client.EventFilter{Opened: tell}, last, func(api.Event) error {
			tell()
			return nil
		})
		if err != nil {
			return err
		}
	}
}
