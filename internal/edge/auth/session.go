package auth

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	// sessionPrefix begins the token of a session, and distinguishes it from a program's token.
	sessionPrefix = tokenPrefix + "session_"

	rotateEvery = time.Hour       // how often the token in a cookie is replaced
	rotateGrace = 5 * time.Minute // how long the old token is still accepted, for requests under way
	rotateAgain = time.Minute     // a client that still uses the old token after this time did not get the new one
	noteEvery   = time.Minute     // how often the store learns which sessions were used
)

// SessionStore stores sessions.
type SessionStore interface {
	Sessions(ctx context.Context, user string) ([]fleet.Session, error)
	SessionByHash(ctx context.Context, hash string) (fleet.Session, error)
	StartSession(ctx context.Context, in fleet.LogIn) error
	SessionUsed(ctx context.Context, id string, at time.Time) error
	RotateSession(ctx context.Context, r fleet.Rotation) (rotated bool, err error)
	EndSession(ctx context.Context, id, user string) error
	UseOnce(ctx context.Context, hash string, until time.Time) error
}

func newSessionToken() string { return sessionPrefix + strings.ToLower(rand.Text()+rand.Text()) }

// session returns the session whose token has this hash. ok is false if there is no such session or it has ended. The
// caller then checks the other half, and after that calls remember.
//
// If the store cannot be read, or answers too late, session returns a session that it found before: a person must be
// able to stop Muster while its database is away.
func (p *People) session(ctx context.Context, hash string) (s fleet.Session, ok bool, err error) {
	s, err = p.read(ctx, hash)
	now := p.Now()
	switch {
	case fleet.CodeOf(err) == fleet.CodeNotFound:
		p.remember(hash, fleet.Session{})
		return s, false, nil
	case err != nil:
		return s, false, err
	case s.Identity != (fleet.Identity{}) && s.Identity.Issuer != p.Issuer:
		return s, false, nil
	case p.over(s, now), s.Hash != hash && !within(now.Sub(s.RotatedAt), rotateGrace):
		return s, false, nil
	}
	return s, true, nil
}

// read reads the session with this hash from the store. If that fails, it returns the session as it was last read.
func (p *People) read(ctx context.Context, hash string) (fleet.Session, error) {
	p.mu.Lock()
	known, isKnown := p.known[hash]
	p.mu.Unlock()
	limited := ctx
	if isKnown {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	s, err := p.Store.SessionByHash(limited, hash)
	if err != nil && fleet.CodeOf(err) != fleet.CodeNotFound && isKnown && ctx.Err() == nil {
		return known, nil
	}
	return s, err
}

// maxKnown bounds how many sessions are kept in memory for times when the store cannot be read.
const maxKnown = 1000

// remember stores a session in memory as it was just read, and records that it was used. If the session has no ID, the
// token with this hash has no session any more, and remember removes it from memory.
func (p *People) remember(hash string, s fleet.Session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.ID == "" {
		delete(p.known, hash)
		return
	}
	for old := range p.known { // any
		if len(p.known) < maxKnown {
			break
		}
		delete(p.known, old)
	}
	p.known[hash] = s
	p.used[s.ID] = p.Now()
}

// Run stores once a minute which sessions were used, until ctx ends. Requests do not store that themselves, because a
// slow database must not make every page slow.
func (p *People) Run(ctx context.Context) error {
	for each := time.NewTicker(noteEvery); ; {
		select {
		case <-ctx.Done():
			each.Stop()
			return ctx.Err()
		case <-each.C:
			p.noteUsed(ctx)
		}
	}
}

func (p *People) noteUsed(ctx context.Context) {
	p.mu.Lock()
	used := p.used
	p.used = map[string]time.Time{}
	p.mu.Unlock()
	for id, at := range used {
		if err := p.Store.SessionUsed(ctx, id, at); err != nil {
			p.log.Warn("the use of a session is not noted", logkey.Err(err))
			return
		}
	}
}

// forget removes from memory the sessions for which ended is true.
func (p *People) forget(ended func(fleet.Session) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for hash, s := range p.known {
		if ended(s) {
			delete(p.known, hash)
		}
	}
}

func (p *People) over(s fleet.Session, now time.Time) bool {
	return !now.Before(s.ExpiresAt) || !within(now.Sub(s.LastUsedAt), p.Times().Idle)
}

// clockSkew is how far in the future a stored time may be, because the clock may have been set back since it was
// stored. A time further ahead counts as not written by Muster.
const clockSkew = 5 * time.Minute

// within reports whether an age is less than limit. An age below zero is accepted only down to -clockSkew.
func within(age, limit time.Duration) bool { return -clockSkew <= age && age < limit }

// Renew replaces the token in a cookie once every rotateEvery, and returns the new token; "" if none is due. A client
// that still sends the old token when rotateAgain has passed since a replacement did not get the new one, and gets
// another.
func (p *People) Renew(ctx context.Context, who Principal, cookie string) string {
	now, bearer := p.Now(), hashOf(cookie)
	after := rotateEvery
	if bearer != who.issued {
		after = rotateAgain
	}
	if who.Credential != CredentialCookie || now.Sub(who.issuedAt) < after {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	token := newSessionToken()
	rotated, err := p.Store.RotateSession(ctx, fleet.Rotation{Session: who.Session, Current: who.issued, Bearer: bearer,
		Next: hashOf(token), At: now})
	if err != nil {
		p.log.Warn("the token of a session is not replaced", logkey.Err(err)) // The next request tries again.
	}
	if !rotated || err != nil {
		return ""
	}
	return token
}

// Sessions returns the sessions of the caller or, for an administrator, of all users, newest first.
func (p *People) Sessions(ctx context.Context, who Principal) ([]fleet.Session, error) {
	user := who.Name
	switch {
	case who.May(ManageUsers):
		user = ""
	case who.Credential == CredentialToken:
		return nil, nil
	}
	sessions, err := p.Store.Sessions(ctx, user)
	if err != nil {
		return nil, err
	}
	now := p.Now()
	return slices.DeleteFunc(sessions, func(s fleet.Session) bool { return p.over(s, now) }), nil
}

// EndSession ends the session with this ID. Users can end their own sessions, an administrator any.
func (p *People) EndSession(ctx context.Context, who Principal, id string) error {
	user := who.Name
	switch {
	case who.May(ManageUsers):
		user = ""
	case who.Credential == CredentialToken:
		return fleet.NotFoundf("there is no such session")
	}
	defer p.forget(func(s fleet.Session) bool { return s.ID == id && (user == "" || s.User == user) })
	return p.Store.EndSession(ctx, id, user)
}

// LogOut ends the caller's session.
func (p *People) LogOut(ctx context.Context, who Principal) error {
	if who.Session == "" {
		return &fleet.Error{Code: fleet.CodeConflict, Message: "a token has no session that could end",
			Hint: "Revoke the token with `muster token delete NAME` instead."}
	}
	defer p.forget(func(s fleet.Session) bool { return s.ID == who.Session })
	return p.Store.EndSession(ctx, who.Session, who.Name)
}

// Leave ends the session of a cookie, and reports whether single sign-on began it. The cookie is enough without the
// other half, because nobody gains power by ending a session.
func (p *People) Leave(ctx context.Context, cookie string) (signedOn bool, err error) {
	s, ok, err := p.session(ctx, hashOf(cookie))
	if err != nil || !ok || s.Half == "" {
		return false, err
	}
	return s.Identity != (fleet.Identity{}), p.LogOut(fleet.WithActor(ctx, s.User), principalOf(s, CredentialCookie))
}
