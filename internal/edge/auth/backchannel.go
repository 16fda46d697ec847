package auth

import (
	"context"
	"slices"
	"time"

	"muster/internal/fleet"
)

// BackChannelPath is the path to which the provider of single sign-on sends a logout token when a person has logged
// out there (OpenID Connect Back-Channel Logout).
const BackChannelPath = LogInPage + "/backchannel-logout"

// logOutTry is one attempt to present a logout token, counted by the address that sent it. Attempts are limited
// because checking a token may mean a request to the provider.
type logOutTry string

func (t logOutTry) counters() []counter {
	return []counter{{perAddress, "log-out " + network(string(t))}}
}

func (logOutTry) refusal(wait time.Duration) error {
	return tooMany("too many logout tokens were not valid", "or look in the log for the reason", wait)
}

// LogOut ends the sessions that a logout token of the provider names. It returns a malformed error for a token that is
// not valid or was used before, because the standard expects status 400 then.
func (s *SignOn) LogOut(ctx context.Context, token string, from Client) error {
	try := logOutTry(from.Address)
	if err := s.People.throttle.begin(try, s.People.Uptime()); err != nil {
		return err
	}
	select {
	case s.logOuts <- struct{}{}:
		defer func() { <-s.logOuts }()
	case <-ctx.Done():
		return ctx.Err()
	}
	said, err := s.Provider.LogOut(ctx, token)
	if err != nil {
		return refusedLogOut(err)
	}
	s.People.throttle.forgive(try)
	out := fleet.SignedOut{Person: said.Person, Token: hashOf("logout " + said.ID), TokenUntil: said.Until}
	if said.Session != "" {
		out.Session = hashOf(said.Session)
	}
	ended, err := s.People.Store.SignOut(fleet.WithActor(ctx, fleet.Anonymous), out)
	s.People.forget(func(v fleet.Session) bool {
		return slices.ContainsFunc(ended, func(e fleet.Session) bool { return e.ID == v.ID })
	})
	return refusedLogOut(err)
}

// refusedLogOut converts err to a malformed error (status 400, as the standard requires) if the token is to blame. It
// returns any other error unchanged.
func refusedLogOut(err error) error {
	switch fleet.CodeOf(err) {
	case fleet.CodeUnauthorized:
		return &fleet.Error{Code: fleet.CodeMalformed, Message: fleet.Reason(err),
			Hint: "The log of Muster says why. Compare the issuer and the client of the provider with those of Muster.",
			Err:  err}
	case fleet.CodeConflict:
		return &fleet.Error{Code: fleet.CodeMalformed, Message: "this logout token was used before",
			Hint: "Each log-out has a token with a jti of its own.", Err: err}
	}
	return err
}
