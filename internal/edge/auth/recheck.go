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
	recheckAfter = 10 * time.Minute // age at which a person's groups are read again in the background
	recheckLimit = time.Hour        // age at which a request waits until they are read again
	recheckAgain = time.Minute      // pause between two questions while the provider does not answer
	maxDue       = 100              // largest number of sessions that wait for Run
)

// lastCheck says when this process last asked the provider for the groups of the person who has a session.
type lastCheck struct {
	at    time.Time // time of the provider's last answer
	tried time.Time // time of the last question
}

// keptGrant is stored as JSON for a session of single sign-on (see SignOnStore.ProviderGrant).
type keptGrant struct {
	At    time.Time // time of the provider's last answer
	Grant string    // opaque text of signon.Provider
}

// Run asks the provider for the groups of the people whose sessions are due, until ctx ends.
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

// isFresh reports whether a session of single sign-on is still valid. If the person's groups were read longer ago than
// recheckAfter, it has Run ask the provider for them. If they were read longer ago than recheckLimit, it asks and
// waits for the answer itself. While the provider does not answer, the session stays valid.
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

// checkOnce checks a session, and reports whether it is still valid. If a check of the session is running already, the
// caller waits for its answer.
func (s *SignOn) checkOnce(ctx context.Context, session fleet.Session) bool {
	counts, _, _ := s.checking.Do(session.ID, func() (any, error) { return s.check(ctx, session), nil })
	return counts == true
}

func (s *SignOn) check(ctx context.Context, session fleet.Session) (counts bool) {
	now := s.People.Now()
	kept, err := s.kept(ctx, session)
	if err != nil { // The session stays valid: a person must be able to stop Muster while its database is away.
		s.People.log.Warn("the groups of a person are not looked at", logkey.Err(err))
		return true
	}
	if within(now.Sub(kept.At), recheckAfter) {
		s.note(session.ID, lastCheck{at: kept.At, tried: kept.At})
		return true
	}
	return s.ask(ctx, session, kept)
}

// ask asks the provider for the person's groups with the session's grant, and reports whether the session is still
// valid.
func (s *SignOn) ask(ctx context.Context, session fleet.Session, kept keptGrant) (counts bool) {
	now := s.People.Now()
	person, err := s.Provider.Recheck(ctx, fleet.NewSecret(kept.Grant), session.Identity, func(grant fleet.Secret) {
		kept.Grant = grant.Reveal()
		s.put(ctx, session, kept)
	})
	switch {
	case errors.Is(err, signon.ErrGrantEnded):
		again, readErr := s.kept(ctx, session)
		if readErr == nil && again.Grant != "" && again.Grant != kept.Grant {
			// Another process of Muster used the grant first, and the provider accepts each only once.
			s.note(session.ID, lastCheck{at: kept.At, tried: now})
			return true
		}
		return s.end(ctx, session, "the provider does not know the log-in any more")
	case errors.Is(err, signon.ErrNoGrant) && !within(now.Sub(kept.At), recheckLimit):
		return s.end(ctx, session, "the provider gave nothing with which Muster can ask for the groups again")
	case err != nil:
		s.note(session.ID, lastCheck{at: kept.At, tried: now})
		return true
	}
	return s.apply(ctx, session, person)
}

// kept returns the grant that is stored for a session. If none is stored, it returns one whose last answer of the
// provider was the log-in.
func (s *SignOn) kept(ctx context.Context, session fleet.Session) (kept keptGrant, err error) {
	text, err := s.People.Store.ProviderGrant(ctx, session.ID)
	if err == nil && json.Unmarshal([]byte(text.Reveal()), &kept) != nil {
		kept = keptGrant{At: session.CreatedAt}
	}
	return kept, err
}

// keep returns the grant to store after an answer that the provider gave just now.
func (s *SignOn) keep(person fleet.ProvenIdentity) keptGrant {
	return keptGrant{At: s.People.Now(), Grant: person.Grant.Reveal()}
}

// secret returns the text that the store has for a grant.
func (k keptGrant) secret() fleet.Secret {
	text, err := json.Marshal(k)
	if err != nil {
		return fleet.Secret{}
	}
	return fleet.NewSecret(string(text))
}

// put stores the grant of a session, even if the request ends meanwhile.
func (s *SignOn) put(ctx context.Context, session fleet.Session, kept keptGrant) {
	if err := s.People.Store.PutProviderGrant(context.WithoutCancel(ctx), session.ID, kept.secret()); err != nil {
		s.People.log.Warn("what the provider gave is not kept", logkey.Err(err))
	}
}

// apply gives a person the role and scope that follow from their present groups. If either differs from the session's,
// the person's sessions end, and apply returns false.
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
	s.put(ctx, session, s.keep(person))
	now := s.People.Now()
	s.note(session.ID, lastCheck{at: now, tried: now})
	return true
}

// end ends one session, because the provider no longer answers for it. It returns false.
func (s *SignOn) end(ctx context.Context, session fleet.Session, why string) bool {
	s.People.log.Info("a session of single sign-on has ended", logkey.Reason, why)
	s.People.forget(func(v fleet.Session) bool { return v.ID == session.ID })
	err := s.People.Store.EndSession(fleet.WithActor(ctx, session.User), session.ID, session.User)
	if err != nil && fleet.CodeOf(err) != fleet.CodeNotFound {
		s.People.log.Error("a session is not ended", logkey.Err(err))
	}
	return false
}

// note records a check of a session. If there are too many records, it first drops all of them; check then reads the
// store again.
func (s *SignOn) note(session string, last lastCheck) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.checks) >= maxKnown {
		clear(s.checks)
	}
	s.checks[session] = last
}
