package mirror

import (
	"context"
	"net"
	"strconv"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Channel is a second connection to a daemon, besides its watcher's. Only one goroutine may use it.
type Channel interface {
	ConfigReader
	// Status returns an error when a different device answers.
	Status(ctx context.Context) (fleet.Status, error)
	Ignores(ctx context.Context, folder string) ([]string, error)
	Summary(ctx context.Context, folder string) (fleet.FolderSummary, error)
	SetIgnores(ctx context.Context, folder string, lines []string) error
	// Write sends a request to a path below /rest/, which the caller has escaped.
	Write(ctx context.Context, method, path string, body []byte) error
	RestartRequired(ctx context.Context) (bool, error)
	Restart(ctx context.Context) error
	Release(ctx context.Context) (fleet.Release, error)
	DismissPending(ctx context.Context, asks fleet.Pending) error
	Close() // a second call does nothing
}

// Session is a Channel for a caller that changes the daemon. A configuration that the caller reads also goes into the
// watcher's snapshot. Until the session is closed, the watcher postpones the readings that events announce.
type Session struct {
	Channel
	w       *watcher
	release func()
}

// Session opens a session. A device has one session at a time, and its watcher waits at most longestHold for its end.
// So during a session the caller waits for nothing but the daemon, and closes the session soon.
func (m *Mirror) Session(ctx context.Context, id fleet.DeviceID) (*Session, error) {
	w, d, err := m.online(id)
	if err != nil {
		return nil, err
	}
	opened, err := d.Open(ctx)
	if err != nil {
		return nil, err
	}
	release, err := w.hold(d)
	if err != nil {
		opened.Close()
		return nil, err
	}
	return &Session{opened, w, release}, nil
}

// Close ends the session.
func (s *Session) Close() {
	s.Channel.Close()
	s.release()
}

// Config reads the configuration, which becomes the device's observed one. It also returns the parsed document; Absent
// if the document is large, or if its text is the one that was read last.
func (s *Session) Config(ctx context.Context) (fleet.ObservedConfig, stconfig.Value, error) {
	return s.w.readConfig(ctx, s.Channel, false)
}

// Run returns the start time of the daemon, which identifies its present run; "" if the daemon does not report it.
func (s *Session) Run(ctx context.Context) (string, error) {
	status, err := s.Status(ctx)
	return status.StartTime, err
}

// SetIgnores writes the ignore patterns of a folder.
func (s *Session) SetIgnores(ctx context.Context, folder string, lines []string) error {
	if err := s.mayWrite(ctx); err != nil {
		return err
	}
	return s.Channel.SetIgnores(ctx, folder, lines)
}

// Restart restarts the daemon.
func (s *Session) Restart(ctx context.Context) error {
	if err := s.mayWrite(ctx); err != nil {
		return err
	}
	return s.Channel.Restart(ctx)
}

// DismissPending removes a pending device or folder from the daemon.
func (s *Session) DismissPending(ctx context.Context, asks fleet.Pending) error {
	if err := s.mayWrite(ctx); err != nil {
		return err
	}
	if err := s.Channel.DismissPending(ctx, asks); err != nil {
		return err
	}
	s.w.m.PendingAnswered(asks)
	return nil
}

const guiPath = "/rest/config/gui" // A write to this path restarts the daemon's API.

// Write sends one write. It does not retry.
func (s *Session) Write(ctx context.Context, method, path string, body []byte) error {
	if err := s.mayWrite(ctx); err != nil {
		return err
	}
	if path != guiPath {
		return s.Channel.Write(ctx, method, path, body)
	}
	cancel := s.w.expectRestart()
	err := s.Channel.Write(ctx, method, path, body)
	if fleet.CodeOf(err) == fleet.CodeRejected {
		cancel()
	}
	return err
}

func (s *Session) mayWrite(ctx context.Context) error {
	if s.w.m.o.MayWrite == nil {
		return nil
	}
	return s.w.m.o.MayWrite(ctx)
}

// TryAccess checks over a separate connection whether the daemon of a device answers with this API key and port. The
// key is sent only to the certificate behind which the device answered last, or to the address in its record. A daemon
// with an agent is asked through the agent, which reads key and port from the daemon's own settings.
func (m *Mirror) TryAccess(ctx context.Context, device *fleet.Registered, access fleet.Access) error {
	if device.Altered {
		return alteredDevice(device.ID)
	}
	if w := m.watcher(device.ID); w != nil {
		if agent := w.agent(); agent != "" {
			return m.tryAccess(ctx, Target{Device: device.ID, Address: agent, Introduced: fleet.ByAgent})
		}
	}
	host, s := device.APIAddress, m.Snapshot(device.ID)
	if s != nil && s.Host() != "" {
		host = s.Host()
	}
	if host == "" {
		return &fleet.Error{Code: fleet.CodeUnavailable, Message: "no address of the daemon is known yet"}
	}
	target := Target{
		Device: device.ID, APIKey: access.Key, Address: net.JoinHostPort(host, strconv.Itoa(access.Port)),
		Pin: device.Settings.Pin, AllowPlain: device.Settings.AllowPlain,
	}
	if w := m.watcher(device.ID); target.Pin == "" && w != nil && device.Settings.PinOrigin != fleet.PinForgotten {
		// A pin of the first use may not be stored yet, so it comes from the watcher. The snapshot's Proven is not used:
		// another program may have written it to the database.
		_, target.Pin = w.pins()
	}
	if device.APIAddress != "" {
		target.Introduced = fleet.ByPerson
	}
	return m.tryAccess(ctx, target)
}

func (m *Mirror) tryAccess(ctx context.Context, target Target) error {
	daemon := m.o.Dial(target)
	defer daemon.Close()
	_, err := daemon.Status(ctx)
	return err
}
