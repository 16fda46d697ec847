package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"time"

	"muster/api"
	"muster/internal/edge/auth"
)

// SignOn logs people in by the provider of single sign-on; see auth.SignOn.
type SignOn interface {
	ProviderName() string
	Away() bool
	HasDevices(ctx context.Context) bool
	BeginDevice(ctx context.Context, from auth.Client) (auth.DeviceLogIn, error)
	FinishDevice(ctx context.Context, handle string, from auth.Client) (auth.Started, time.Duration, error)
}

// SignOnHandlers log people in by the provider of single sign-on.
type SignOnHandlers struct {
	HasPasswords bool // people log in with a password here
	SignOn       SignOn
}

func (s SignOnHandlers) routes(*base) []route {
	device := Prefix + "/login/device"
	return []route{
		{method: http.MethodGet, path: Prefix + "/login", name: "getLogin", summary: "How people log in here",
			permission: auth.Public, reply: reflect.TypeFor[api.LoginMethods](), off: !s.HasPasswords, handle: s.getLogin},
		{method: http.MethodPost, path: device, name: "beginDeviceLogin",
			summary:    "Begin the log-in of a program without a browser: a person types a code at the provider",
			permission: auth.Public, reply: reflect.TypeFor[api.DeviceLogin](), volatile: true, conflicts: true,
			off: s.SignOn == nil, handle: s.beginDevice},
		{method: http.MethodPost, path: device + "/session", name: "endDeviceLogin",
			summary: "Start the session of a log-in that was begun so, once the person has answered", permission: auth.Public,
			body: reflect.TypeFor[api.EndDeviceLogin](), reply: reflect.TypeFor[api.DeviceSession](), volatile: true,
			conflicts: true, off: s.SignOn == nil, handle: s.endDevice},
	}
}

func (s SignOnHandlers) getLogin(r *request) (reply, error) {
	out := api.LoginMethods{Password: true}
	if s.SignOn != nil {
		out.SingleSignOn = &api.SingleSignOn{Name: s.SignOn.ProviderName(), Path: auth.SignOnPage,
			Device: s.SignOn.HasDevices(r.Context()), Away: s.SignOn.Away()}
	}
	return show(out)
}

func (s SignOnHandlers) beginDevice(r *request) (reply, error) {
	begun, err := s.SignOn.BeginDevice(r.Context(), auth.ClientOf(r.Request))
	if err != nil {
		return reply{}, err
	}
	return show(api.DeviceLogin{Handle: begun.Handle, UserCode: begun.UserCode, URL: begun.URL, DirectURL: begun.Direct,
		IntervalS: int(begun.Interval.Seconds()), ExpiresAt: api.Time{Time: begun.Until}})
}

func (s SignOnHandlers) endDevice(r *request) (reply, error) {
	body, err := decode[api.EndDeviceLogin](r, "handle")
	if err != nil {
		return reply{}, err
	}
	started, wait, err := s.SignOn.FinishDevice(r.Context(), *body.Handle, auth.ClientOf(r.Request))
	if err != nil {
		return reply{}, err
	}
	if started.Token == "" {
		return show(api.DeviceSession{IntervalS: int(wait.Seconds())})
	}
	return show(api.DeviceSession{User: started.Session.User, Session: new(newSession(started))})
}
