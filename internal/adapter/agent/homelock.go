package agent

import (
	"errors"
	"os"

	"muster/internal/fleet"
)

// errHeld is the cause where another process holds the lock of a home.
var errHeld = errors.New("another process holds the lock")

// HoldHome keeps other agents away from the daemon of the home until release is called or the process ends. Where
// another agent holds it the error is one of code conflict. Any other error means that this system cannot lock the
// home: then nothing keeps a second agent away. It is called before Confine.
func (a *Agent) HoldHome() (release func() error, err error) {
	file, err := lockHome(a.o.Home)
	if errors.Is(err, errHeld) {
		return nil, &fleet.Error{Code: fleet.CodeConflict, Err: err,
			Message: "another agent runs for the daemon of " + a.o.Home + " already",
			Hint: "One agent is enough. `muster agent status` shows it, also that of another user to that user; a service is " +
				"shown by `systemctl status muster-agent`. Stop one of the two."}
	}
	if err != nil {
		return nil, err
	}
	return file.Close, nil
}

// closing closes a file after an error, which it returns.
func closing(file *os.File, err error) error { return errors.Join(err, file.Close()) }
