//go:build unix

package sandbox

import (
	"os"
	"syscall"
)

// killedBySystem tells whether somebody else killed a worker: the kernel's out-of-memory killer is who does.
func killedBySystem(state *os.ProcessState) bool {
	status, ok := state.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL
}
