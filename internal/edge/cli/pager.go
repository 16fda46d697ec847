package cli

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strings"

	"golang.org/x/term"
)

// paging is the flag of commands whose text may be longer than a terminal.
type paging struct {
	NoPager bool `name:"no-pager" env:"-" help:"Print a long text on a terminal at once, without $PAGER; PAGER=cat does so for all commands."`
}

func (p paging) pages() bool { return !p.NoPager }

// paged is a command whose text a person may read by pages. It asks nothing.
type paged interface{ pages() bool }

// usualPager shows pages where PAGER is not set.
const usualPager = "less"

// pagerCommand is the person's pager, "" for no paging.
func pagerCommand() string {
	pager, isSet := os.LookupEnv("PAGER")
	pager = strings.TrimSpace(pager)
	switch {
	case isSet && (pager == "" || pager == "cat"), os.Getenv("TERM") == "dumb":
		return ""
	case isSet:
		return pager
	}
	if _, err := exec.LookPath(usualPager); err != nil {
		return ""
	}
	return usualPager
}

// inPages runs a command, and shows a text that is longer than the terminal in a pager.
func (env *environment) inPages(show func() error) error {
	pager := pagerCommand()
	terminal := terminalOf(env.Out)
	if terminal == nil || pager == "" {
		return show()
	}
	shown := &screen{of: env.Out}
	env.Out = shown
	err := show()
	env.Out = shown.of
	text := shown.String()
	if codeFor(err) != exitInterrupted && isLonger(text, terminal) && showPages(pager, text, terminal, env.Err) {
		return err
	}
	_, written := io.WriteString(env.Out, text)
	return errors.Join(err, written)
}

// isLonger reports whether a text has more lines than a terminal. One without a size has no height.
func isLonger(text string, terminal *os.File) bool {
	_, height, err := term.GetSize(int(terminal.Fd()))
	return err == nil && height > 0 && strings.Count(text, "\n") >= height
}

// showPages shows a text in a pager until the person leaves it. It is false where the pager could not be started, or
// failed before it read anything, as one does that does not know its own options. A person who leaves early, or presses
// Ctrl-C in the pager, has read enough: that is no error.
func showPages(pager, text string, terminal *os.File, errs io.Writer) bool {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	defer signal.Stop(interrupted)
	command := exec.Command("sh", "-c", pager) //nolint:gosec // the person's own pager
	if runtime.GOOS == "windows" {
		words := strings.Fields(pager)
		command = exec.Command(words[0], words[1:]...) //nolint:gosec // the person's own pager
	}
	input, unread, err := feed(text)
	if err != nil {
		return false
	}
	command.Stdin, command.Stdout, command.Stderr = input, terminal, errs
	command.Env = os.Environ()
	if os.Getenv("LESS") == "" { // Keep colours and what was read on the screen, and do not page one screenful.
		command.Env = append(command.Env, "LESS=FRX")
	}
	err = command.Run()
	readNothing := unread() == int64(len(text))
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err == nil
	}
	wasKilled := exit.ExitCode() < 0 // Ctrl-C ends some pagers by a signal, and others with an exit code.
	return !readNothing || wasKilled || len(interrupted) > 0
}

// feed returns a pipe with a text. unread ends the pipe, and returns how many bytes of the text nobody read.
func feed(text string) (input *os.File, unread func() int64, err error) {
	input, into, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	go func() {
		_, _ = io.WriteString(into, text) // unread reads what the pager does not.
		_ = into.Close()
	}()
	return input, func() int64 {
		left, _ := io.Copy(io.Discard, input) // The pipe ends when the whole text is written.
		_ = input.Close()
		return left
	}, nil
}
