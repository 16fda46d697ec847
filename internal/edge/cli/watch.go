package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

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
	watchRetry  = 5 * time.Second        // A step that could not reach the server is tried again after it.
	clearScreen = "\x1b[H\x1b[2J\x1b[3J"
)

// watch runs a command at once and after events, and prints what differs from the time before.
func watch(ctx context.Context, env *environment, server *client.Client, show func() error) error {
	shown := &screen{of: env.Out}
	first, last, out := true, "", env.Out
	return afterEvents(ctx, env, server, func() (done bool, err error) {
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

// afterEvents calls step at once and after events of the fleet, until step says that it is done. Once a step worked, a
// server that cannot be reached is waited for.
func afterEvents(ctx context.Context, env *environment, server *client.Client, step func() (done bool,
	err error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changed, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() { ended <- follow(ctx, env, server, changed) }()
	for worked := false; ; {
		done, err := step()
		again := time.Duration(0)
		switch {
		case worked && client.CodeOf(err) == client.CodeUnavailable:
			again = watchRetry
		case done || err != nil:
			return err
		}
		worked = true
		if err := awaitChange(changed, ended, again); err != nil {
			return err
		}
		select {
		case <-time.After(watchPause):
		case <-ctx.Done():
		}
	}
}

// awaitChange waits for an event, for the end of the events, or for a time; 0: as long as it takes.
func awaitChange(changed <-chan struct{}, ended <-chan error, most time.Duration) error {
	var late <-chan time.Time
	if most > 0 {
		late = time.After(most)
	}
	select {
	case <-changed:
	case <-late:
	case err := <-ended:
		return err
	}
	return nil
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

// follow signals changed at the beginning, after every event, and when the server can be reached again.
func follow(ctx context.Context, env *environment, server *client.Client, changed chan<- struct{}) error {
	tell := func() {
		select {
		case changed <- struct{}{}:
		default: // a signal waits already
		}
	}
	for _, err := range server.Watch(ctx, client.EventFilter{Opened: tell, Lost: env.tellLost}, 0) {
		if err != nil {
			return err
		}
		tell()
	}
	return nil
}
