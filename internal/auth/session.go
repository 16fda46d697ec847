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
	// sessionPrefix tells the token of a session from the token of a program.
	sessionPrefix = tokenPrefix + "session_"

	rotateEvery = time.Hour       // the token in a cookie
	rotateGrace = 5 * time.Minute // the token before is good for so long, for requests that are under way
	rotateAgain = time.Minute     // after that a client that uses the token before did not get the new one
	noteEvery   = time.Minute     // what sessions were used
)

func newSessionToken() string { return sessionPrefix + strings.ToLower(rand.Text()+rand.Text()) }

// session finds whose token this is; ok is false for a token of no session that goes on.
//
// While the store cannot be read, or not in time, a session that was found before is found again: a database that is
// away must not keep a person from stopping Muster.
func (p *People) session(ctx context.Context, token string) (s fleet.Session, ok bool, err error) {
	hash := hashOf(token)
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
	p.remember(hash, s)
	return s, true, nil
}

// read reads a session from the store, else as it was known.
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

// maxKnown bounds the sessions that are found while the store cannot be read.
const maxKnown = 1000

// remember keeps a session as it was read; one without ID is forgotten.
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

// Run tells the store once a minute which sessions were used, until ctx ends. A session that a request uses is written
// by no request: a database that is slow must not make every page slow.
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

// forget drops what is remembered of sessions that ended.
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

// clockSkew is how far ahead a time may be that was written before the clock was set back. A later one was not written
// by Muster.
const clockSkew = 5 * time.Minute

// within tells whether an age is less than a limit, and not that of a time to come.
func within(age, limit time.Duration) bool { return -clockSkew <= age && age < limit }

// Renew gives the session of a cookie another token once in a while; "" is none now. A client that uses the token
// before a minute after it was replaced did not get the new one, and gets another.
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
		p.log.Warn("the token of a session is not replaced", logkey.Err(err)) // the next request tries again
	}
	if !rotated || err != nil {
		return ""
	}
	return token
}

// Sessions are those of the user who asks; of all users when an administrator asks. The newest is first.
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

// EndSession ends a session of the user who asks; an administrator ends any.
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

// LogOut ends the session that asks.
func (p *People) LogOut(ctx context.Context, who Principal) error {
	if who.Session == "" {
		return &fleet.Error{Code: fleet.CodeConflict, Message: "a token has no session that could end",
			Hint: "Revoke the token with `muster token revoke NAME` instead."}
	}
	defer p.forget(func(s fleet.Session) bool { return s.ID == who.Session })
	return p.Store.EndSession(ctx, who.Session, who.Name)
}
