package auth

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"muster/internal/fleet"
	"muster/internal/signon"
)

// DeviceLogIn is a log-in of a program without a browser: a person types the code at the provider.
type DeviceLogIn struct {
	Handle   string // that the program ends the log-in with; a secret
	UserCode string
	URL      string // where the person types the code
	Direct   string // where it is typed already; blank: there is no such place
	Interval time.Duration
	Until    time.Time
}

// deviceAttempt is a log-in that a program began.
type deviceAttempt struct {
	ID       string
	Code     string
	Interval time.Duration
	Until    time.Time
}

const byDevice = "single sign-on of a program"

// slowDown is how much longer a program waits when the provider was asked too often.
const slowDown = 5 * time.Second

// HasDevices tells whether programs without a browser can log in.
func (s *SignOn) HasDevices(ctx context.Context) bool { return s.Provider.HasDevices(ctx) }

// BeginDevice begins the log-in of a program.
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

// FinishDevice ends the log-in of a program. As long as the person has not answered it gives how long to wait before
// the next question, and no session.
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
