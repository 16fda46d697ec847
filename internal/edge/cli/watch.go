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

// watching is the flag of commands that can print again after changes.
type watching struct {
	Watch bool `short:"w" env:"-" help:"Show it again whenever it changes, until Ctrl-C."`
}

func (w watching) watches() bool { return w.Watch }

// watcher is a command that can print again after changes.
type watcher interface {
	watches() bool
	client() (*client.Client, error)
}

// screen gathers the text of one run of the command.
type screen struct {
	bytes.Buffer
	of io.Writer
}

const (
	watchPause  = 500 * time.Millisecond // least time between two steps in a busy fleet
	clearScreen = "\x1b[H\x1b[2J\x1b[3J"
)

// watch runs a command at once and after events, and prints what differs from the time before.
func watch(ctx context.Context, env *environment, server *client.Client, show func() error) error {
	shown := &screen{of: env.Out}
	first, last, out := true, "", env.Out
	return afterEvents(ctx, server, func() (done bool, err error) {
		shown.Reset()
		env.Out = shown
		err = show()
		env.Out = out
		var code exitCode
		if err != nil && !errors.As(err, &code) { // an exit code belongs to what is shown
			return false, err
		}
		if text := shown.String(); first || text != last {
			err = env.repaint(text, first)
			first, last = false, text
			return false, err
		}
		return false, nil
	})
}

// afterEvents calls step at once and after events of the fleet, until step says that it is done.
func afterEvents(ctx context.Context, server *client.Client, step func() (done bool, err error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changed, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() { ended <- follow(ctx, server, changed) }()
	for {
		if done, err := step(); done || err != nil {
			return err
		}
		select {
		case <-changed:
		case err := <-ended:
			return err
		}
		select {
		case <-time.After(watchPause):
		case <-ctx.Done():
		}
	}
}

// repaint replaces the text on a terminal. Elsewhere it prints the text below the earlier one.
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

// follow signals changed at the beginning and after every event, until ctx ends or the server cannot be reached.
func follow(ctx context.Context, server *client.Client, changed chan<- struct{}) error {
	tell := func() {
		select {
		case changed <- struct{}{}:
		default: // a signal waits already
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
