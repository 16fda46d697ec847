package auth

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"muster/internal/adapter/signon"
	"muster/internal/fleet"
)

// DeviceLogIn is the log-in, begun but not finished, of a person in a program that has no browser (OAuth 2.0 Device
// Authorization Grant). The person types UserCode at the provider.
type DeviceLogIn struct {
	Handle   string // secret that the program passes to FinishDevice
	UserCode string
	URL      string // page on which the person types the code
	Direct   string // page with the code filled in; "" if the provider has none
	Interval time.Duration
	Until    time.Time
}

// deviceAttempt is the content of a DeviceLogIn's handle.
type deviceAttempt struct {
	ID       string
	Code     string
	Interval time.Duration
	Until    time.Time
}

const byDevice = "single sign-on of a program"

// slowDown is added to the interval between two questions if the provider answers that a program asks too often.
const slowDown = 5 * time.Second

// HasDevices reports whether the provider supports the Device Authorization Grant, with which a person logs in to a
// program that has no browser. It has nothing to do with Syncthing devices.
func (s *SignOn) HasDevices(ctx context.Context) bool { return s.Provider.HasDevices(ctx) }

// BeginDevice begins the log-in of a person in a program.
func (s *SignOn) BeginDevice(ctx context.Context, from Client) (DeviceLogIn, error) {
	if err := s.People.throttle.begin(deviceBeginning(from.Address), s.People.Uptime()); err != nil {
		return DeviceLogIn{}, err
	}
	leave, err := s.enter()
	if err != nil {
		return DeviceLogIn{}, err
	}
	defer leave()
	d, err := s.Provider.BeginDevice(ctx)
	if err != nil {
		return DeviceLogIn{}, err
	}
	handle, err := sealAttempt(s.Key, byDevice, deviceAttempt{ID: rand.Text(), Code: d.Code, Interval: d.Interval,
		Until: d.Until})
	return DeviceLogIn{Handle: handle, UserCode: d.UserCode, URL: d.URL, Direct: d.Direct, Interval: d.Interval,
		Until: d.Until}, err
}

// FinishDevice asks the provider whether the person has finished the log-in, and if so starts the session. If not, it
// returns a zero Started, and how long the program has to wait before it asks again. handle is that of BeginDevice.
func (s *SignOn) FinishDevice(ctx context.Context, handle string, from Client) (Started, time.Duration, error) {
	var begun deviceAttempt
	if !openAttempt(s.Key, byDevice, handle, &begun) || !s.People.Now().Before(begun.Until) {
		return Started{}, 0, &fleet.Error{Code: fleet.CodeUnauthorized,
			Message: "this log-in was not begun here, or the code was not typed in time", Hint: "Type `muster login` again."}
	}
	if err := s.People.throttle.begin(deviceQuestion{begun.ID, begun.Interval}, s.People.Uptime()); err != nil {
		return Started{}, 0, err
	}
	leave, err := s.enter()
	if err != nil {
		return Started{}, 0, err
	}
	defer leave()
	person, err := s.Provider.RedeemDevice(ctx, begun.Code)
	switch {
	case errors.Is(err, signon.ErrSlowDown):
		return Started{}, begun.Interval + slowDown, nil
	case errors.Is(err, signon.ErrPending):
		return Started{}, begun.Interval, nil
	case err != nil:
		s.noteFailure(ctx, err, from)
		return Started{}, 0, err
	}
	started, err := s.start(ctx, person, attemptUse{hash: hashOf(begun.ID), until: begun.Until}, from)
	return started, 0, err
}
