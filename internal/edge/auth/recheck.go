package auth

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"muster/internal/adapter/signon"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	recheckAfter = 10 * time.Minute // age of a person's groups at which they are asked for again, beside the requests
	recheckLimit = time.Hour        // age at which a request waits until they were asked for
	recheckAgain = time.Minute      // between two questions when the provider does not answer
	maxDue       = 100              // sessions that wait for Run
)

// lastCheck is what this process knows about the groups of a session's person.
type lastCheck struct {
	at    time.Time // time of the provider's last answer
	tried time.Time // time of the last question
}

// keptGrant is what the store keeps for a session of single sign-on.
type keptGrant struct {
	At    time.Time // time of the provider's last answer
	Grant string    // opaque text of signon.Provider
}

// Run asks the provider for the groups of those who use Muster, until ctx ends.
func (s *SignOn) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case session := <-s.due:
			s.checkOnce(ctx, session)
		}
	}
}

// isFresh reports whether a session of single sign-on still counts. The groups of its person are at most an hour old,
// unless the provider does not answer.
func (s *SignOn) isFresh(ctx context.Context, session fleet.Session) bool {
	now := s.People.Now()
	s.mu.Lock()
	last := s.checks[session.ID]
	s.mu.Unlock()
	switch {
	case within(now.Sub(last.at), recheckAfter), within(now.Sub(last.tried), recheckAgain):
		return true
	case within(now.Sub(last.at), recheckLimit):
		s.note(session.ID, lastCheck{at: last.at, tried: now})
		select {
		case s.due <- session:
		default: // The next request asks again.
		}
		return true
	}
	return s.checkOnce(context.WithoutCancel(ctx), session)
}

// checkOnce checks a session. Requests that come meanwhile wait for the same answer.
func (s *SignOn) checkOnce(ctx context.Context, session fleet.Session) bool {
	counts, _, _ := s.checking.Do(session.ID, func() (any, error) { return s.check(ctx, session), nil })
	return counts == true
}

func (s *SignOn) check(ctx context.Context, session fleet.Session) (counts bool) {
	now := s.People.Now()
	kept, err := s.kept(ctx, session)
	if err != nil { // The database is away: a person must be able to stop Muster then.
		s.People.log.Warn("the groups of a person are not looked at", logkey.Err(err))
		return true
	}
	if within(now.Sub(kept.At), recheckAfter) {
		s.note(session.ID, lastCheck{at: kept.At, tried: kept.At})
		return true
	}
	person, err := s.Provider.Recheck(ctx, fleet.NewSecret(kept.Grant), session.Identity)
	switch {
	case errors.Is(err, signon.ErrGrantEnded):
		return s.end(ctx, session, "the provider does not know the log-in any more")
	case errors.Is(err, signon.ErrNoGrant) && !within(now.Sub(kept.At), recheckLimit):
		return s.end(ctx, session, "the provider gave nothing with which Muster can ask for the groups again")
	case err != nil:
		s.note(session.ID, lastCheck{at: kept.At, tried: now})
		return true
	}
	return s.apply(ctx, session, person)
}

// kept returns what a session keeps of its provider. A session that keeps nothing was last checked at its log-in.
func (s *SignOn) kept(ctx context.Context, session fleet.Session) (kept keptGrant, err error) {
	text, err := s.People.Store.ProviderGrant(ctx, session.ID)
	if err == nil && json.Unmarshal([]byte(text.Reveal()), &kept) != nil {
		kept = keptGrant{At: session.CreatedAt}
	}
	return kept, err
}

// keep makes what the store keeps of a provider's answer of now.
func (s *SignOn) keep(person fleet.ProvenIdentity) fleet.Secret {
	text, err := json.Marshal(keptGrant{At: s.People.Now(), Grant: person.Grant.Reveal()})
	if err != nil {
		return fleet.Secret{}
	}
	return fleet.NewSecret(string(text))
}

// apply gives a person the role and tags of their groups. Another role or other tags end the earlier sessions.
func (s *SignOn) apply(ctx context.Context, session fleet.Session, person fleet.ProvenIdentity) (counts bool) {
	role, scope, ok := roleOf(s.Rules, person.Groups)
	if !ok {
		if err := s.refuse(ctx, person, Client{Address: session.Address}); fleet.CodeOf(err) != fleet.CodeForbidden {
			s.People.log.Error("a person without a role is not taken out", logkey.Err(err))
		}
		return false
	}
	if role != session.Role || scope != session.Scope {
		if err := s.People.Store.PutSignedOn(fleet.WithActor(ctx, session.User), session.Identity, role, scope); err != nil {
			s.People.log.Error("the role of a person is not changed", logkey.Err(err))
		}
		s.People.forget(func(v fleet.Session) bool { return v.User == session.User })
		return false
	}
	if err := s.People.Store.PutProviderGrant(context.WithoutCancel(ctx), session.ID, s.keep(person)); err != nil {
		s.People.log.Warn("what the provider gave is not kept", logkey.Err(err))
	}
	now := s.People.Now()
	s.note(session.ID, lastCheck{at: now, tried: now})
	return true
}

// end ends one session, because the provider says no more about its person.
func (s *SignOn) end(ctx context.Context, session fleet.Session, why string) bool {
	s.People.log.Info("a session of single sign-on has ended", logkey.Reason, why)
	s.People.forget(func(v fleet.Session) bool { return v.ID == session.ID })
	err := s.People.Store.EndSession(fleet.WithActor(ctx, session.User), session.ID, session.User)
	if err != nil && fleet.CodeOf(err) != fleet.CodeNotFound {
		s.People.log.Error("a session is not ended", logkey.Err(err))
	}
	return false
}

// note remembers a check. What is forgotten is read from the store again.
func (s *SignOn) note(session string, last lastCheck) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.checks) >= maxKnown {
		clear(s.checks)
	}
	s.checks[session] = last
}
