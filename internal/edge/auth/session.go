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
	// sessionPrefix is the beginning of a session's token, which distinguishes it from a program's.
	sessionPrefix = tokenPrefix + "session_"

	rotateEvery = time.Hour       // how often the token in a cookie is replaced
	rotateGrace = 5 * time.Minute // how long the former token still works, for requests under way
	rotateAgain = time.Minute     // after this time a client that still uses the former token has not got the new one
	noteEvery   = time.Minute     // how often the store learns which sessions were used
)

// SessionStore keeps sessions.
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

// session finds the session of a token by its hash. ok is false for a token without a session, or whose session is
// over. The caller checks the other half, and remembers the session.
//
// While the store cannot be read, or not in time, a session that was found before is found again: a person must be
// able to stop Muster also when its database is away.
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

// read reads the session with this hash from the store. Where that fails, it gives the session as it was last read.
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

// maxKnown bounds how many sessions are remembered for times when the store cannot be read.
const maxKnown = 1000

// remember remembers a session as it was just read, and that it was used. It forgets a session that has no ID.
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

// Run tells the store once a minute which sessions were used, until ctx ends. Requests do not write that themselves,
// because a slow database must not make every page slow.
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

// forget forgets sessions that have ended.
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
	return !now.Before(s.ExpiresAt) || !within(now.Sub(s.LastUsedAt), p.Idle)
}

// clockSkew is how far ahead a stored time may be, because it was written before the clock was set back. Muster did
// not write a time further ahead.
const clockSkew = 5 * time.Minute

// within reports whether an age is less than a limit, and not that of a time in the future.
func within(age, limit time.Duration) bool { return -clockSkew <= age && age < limit }

// Renew returns the session of a cookie a new token once in a while. It returns "" when none is due. A client that
// still uses the former token a minute after it was replaced has not got the new one, and gets another.
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

// Sessions returns the sessions of the user who asks or, for an administrator, those of all users, newest first.
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

// EndSession ends the session with this ID: one of the user who asks or, for an administrator, any.
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

// LogOut ends the session of the principal who asks.
func (p *People) LogOut(ctx context.Context, who Principal) error {
	if who.Session == "" {
		return &fleet.Error{Code: fleet.CodeConflict, Message: "a token has no session that could end",
			Hint: "Revoke the token with `muster token delete NAME` instead."}
	}
	defer p.forget(func(s fleet.Session) bool { return s.ID == who.Session })
	return p.Store.EndSession(ctx, who.Session, who.Name)
}

// Leave ends the session of a cookie. The cookie is enough for that, because to end a session gives no power. It tells
// whether the session was begun by single sign-on.
func (p *People) Leave(ctx context.Context, cookie string) (signedOn bool, err error) {
	s, ok, err := p.session(ctx, hashOf(cookie))
	if err != nil || !ok || s.Half == "" {
		return false, err
	}
	return s.Identity != (fleet.Identity{}), p.LogOut(fleet.WithActor(ctx, s.User), principalOf(s, CredentialCookie))
}
