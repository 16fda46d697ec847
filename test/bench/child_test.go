package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
)

// child is the test binary again, in another role. It is asked one thing at a time: a JSON value in, one out.
type child struct {
	process *exec.Cmd
	in      io.Closer

	mu  sync.Mutex // guards to and from
	to  *json.Encoder
	out *json.Decoder
}

func startChild(role string) (*child, error) {
	c := &child{process: exec.Command(os.Args[0])}
	c.process.Env = append(os.Environ(), roleVariable+"="+role)
	c.process.Stderr = os.Stderr
	in, err := c.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.in, c.to, c.out = in, json.NewEncoder(in), json.NewDecoder(out)
	return c, c.process.Start()
}

func (c *child) pid() int { return c.process.Process.Pid }

// ask sends a command and waits for its answer.
func (c *child) ask(b testing.TB, command, answer any) {
	b.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.to.Encode(command); err != nil {
		b.Fatal(err)
	}
	if err := c.out.Decode(answer); err != nil {
		b.Fatalf("%+v: %v", command, err)
	}
}

// stop ends the child, which leaves when its input ends.
func (c *child) stop() {
	_ = c.in.Close()
	_ = c.process.Wait()
}

// obey answers commands until there are no more.
func obey[Command, Answer any](in io.Reader, out io.Writer, do func(Command) (Answer, error)) error {
	commands, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var command Command
		if err := commands.Decode(&command); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		answer, err := do(command)
		if err != nil {
			return fmt.Errorf("%+v: %w", command, err)
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
}
