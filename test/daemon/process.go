package daemon

import (
	"io"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is a child in a process group of its own, so that syncthing's supervisor and the daemon below it end
// together.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when the child has ended
	err  error         // of Wait; read after done
}

// startProcess keeps one OS thread for as long as the child lives: the kernel's promise to kill the child with its
// parent (pdeathsig) is bound to the thread that started it.
func startProcess(cmd *exec.Cmd) (*process, error) {
	attributes := childAttributes()
	if cmd.SysProcAttr != nil {
		attributes.Credential = cmd.SysProcAttr.Credential
	}
	cmd.SysProcAttr = attributes
	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.done)
		err := cmd.Start()
		if log, ok := cmd.Stdout.(io.Closer); ok {
			_ = log.Close() // the child has its own descriptor
		}
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
	}()
	return p, <-started
}

func (p *process) stop(limit time.Duration) {
	p.signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(limit):
	}
	p.signal(syscall.SIGKILL) // the group: also what outlived its parent
	<-p.done
}

func (p *process) signal(s syscall.Signal) {
	if p.cmd.Process != nil {
		_ = syscall.Kill(-p.cmd.Process.Pid, s)
	}
}
