package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	tellTime       = 2 * time.Second
	maxReportBytes = 1 << 20
	runtimeName    = "muster-agent"
	socketSuffix   = ".sock"
)

// RuntimeDir returns the folder for the socket on which an agent reports its state.
func RuntimeDir() string {
	if dir := os.Getenv("RUNTIME_DIRECTORY"); dir != "" { // The service manager sets this variable.
		return dir
	}
	return runtimeDirs()[0]
}

// runtimeDirs returns the folders that may have such sockets: the one of this user, and the one of a system service.
func runtimeDirs() (dirs []string) {
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		dirs = append(dirs, filepath.Join(dir, runtimeName))
	}
	if dir, err := os.UserCacheDir(); err == nil {
		dirs = append(dirs, filepath.Join(dir, runtimeName))
	}
	return append(dirs, filepath.Join("/run", runtimeName))
}

// Listen opens the socket for the agent's report. Only the agent's user can connect to it. Listen returns an error
// when another agent runs for the same daemon, because the two would disconnect each other at the server.
func (a *Agent) Listen(dir string) (net.Listener, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, a.Report().Device.Short()+socketSuffix)
	if other, err := ask(path); err == nil {
		return nil, &fleet.Error{Code: fleet.CodeConflict,
			Message: fmt.Sprintf("an agent runs for this daemon already: process %d", other.PID),
			Hint:    "`muster agent status` shows it. Stop it first, or the service that runs it."}
	}
	_ = os.Remove(path) // left by an agent that was killed
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	return listener, os.Chmod(path, 0o600)
}

// Tell answers connections to the socket until ctx ends.
func (a *Agent) Tell(ctx context.Context, listener net.Listener) {
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			a.log.Warn("the status of the agent cannot be asked any more", logkey.Err(err))
			return
		}
		_ = conn.SetDeadline(time.Now().Add(tellTime))
		_ = json.NewEncoder(conn).Encode(a.Report())
		_ = conn.Close()
	}
}

// Reports asks all agents of this machine whose sockets this user may open.
func Reports() (all []Report) {
	for _, dir := range runtimeDirs() {
		sockets, _ := filepath.Glob(filepath.Join(dir, "*"+socketSuffix))
		for _, path := range sockets {
			if report, err := ask(path); err == nil {
				all = append(all, report)
			}
		}
	}
	return all
}

func ask(path string) (report Report, err error) {
	conn, err := net.DialTimeout("unix", path, tellTime)
	if err != nil {
		return Report{}, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(tellTime))
	return report, json.NewDecoder(io.LimitReader(conn, maxReportBytes)).Decode(&report)
}
