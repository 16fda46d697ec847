package mirror

import (
	"context"
	"net"
	"strconv"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Channel is a second connection to a daemon, beside its watcher's. It is for one goroutine.
type Channel interface {
	ConfigReader
	Status(ctx context.Context) (fleet.Status, error) // as Reader.Status
	Ignores(ctx context.Context, folder string) ([]string, error)
	SetIgnores(ctx context.Context, folder string, lines []string) error
	Write(ctx context.Context, method, path string, body []byte) error // a path below /rest/, escaped
	RestartRequired(ctx context.Context) (bool, error)
	Restart(ctx context.Context) error
	Release(ctx context.Context) (fleet.Release, error)
	DismissPending(ctx context.Context, asks fleet.Pending) error
	Close() // twice is fine
}

// Session is a Channel for a caller that changes the daemon. The watcher knows the configurations that the caller
// reads, and waits for the caller with what events announce.
type Session struct {
	Channel
	w       *watcher
	release func()
}

// Session opens a session. While it is open, the watcher waits with what events announce, though not for ever, and a
// device has one session at a time. So the caller waits for nothing but the daemon meanwhile, and closes the session
// soon.
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

// Config reads the configuration, which becomes the device's observed one. The document comes with it where it was
// taken apart and is not large.
func (s *Session) Config(ctx context.Context) (fleet.ObservedConfig, stconfig.Value, error) {
	return s.w.readConfig(ctx, s.Channel, false)
}

// Run tells the daemon's present run from those before and after it; "" where the daemon does not say.
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

// Restart has the daemon start anew.
func (s *Session) Restart(ctx context.Context) error {
	if err := s.mayWrite(ctx); err != nil {
		return err
	}
	return s.Channel.Restart(ctx)
}

// DismissPending has the daemon forget a pending device or folder.
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

const guiPath = "/rest/config/gui" // a write there restarts the daemon's API

// Write sends one write, once.
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

// TryAccess asks the daemon of a device something with another API key or at another port, over a connection of its
// own. It goes only to the certificate behind which the device answered last, or to the address in its record. A daemon
// that is reached by its agent is asked through that, which follows the daemon's own settings: it has the key and port.
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
		_, target.Pin = w.pins() // that of the first use may not be kept yet; Proven may be what another program wrote
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
