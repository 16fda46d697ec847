package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"net/http"
	"time"

	"muster/internal/fleet"
)

const (
	codeLife   = time.Minute      // how long a page may take to exchange the code of its log-in
	ticketLife = 30 * time.Second // how long a browser may take to begin a download
)

// pageLogIn is the content of a code: a log-in by a form on a page that the server rendered. The page exchanges the
// code for the two halves of the session.
type pageLogIn struct {
	ID, Token, Half, Device, User string
	ExpiresAt, Until              time.Time
}

// pageTicket is the content of a ticket. A ticket lets its bearer read one path once. It is for downloads: a browser
// cannot send the session's header with them.
type pageTicket struct {
	ID, Session, Path string // Session is the hash of the session's token
	Until             time.Time
}

const (
	byPage   = "log-in of a page"
	byTicket = "ticket of a page"
)

// oneTimeKey returns the key that seals codes and tickets. All servers of the same database have the same key.
func (p *People) oneTimeKey() []byte {
	key := sha256.Sum256(append([]byte("codes and tickets of pages\x00"), p.DeviceKey...))
	return key[:]
}

// Code returns a code for the session that was just started for a page. The page exchanges the code for the session.
func (p *People) Code(started Started) (string, error) {
	return sealAttempt(p.oneTimeKey(), byPage, pageLogIn{ID: rand.Text(), Token: started.Token, Half: started.Half,
		Device: started.Device, User: started.Session.User, ExpiresAt: started.Session.ExpiresAt,
		Until: p.Now().Add(codeLife)})
}

// Exchange returns the session of a code. Each code can be exchanged once.
func (p *People) Exchange(ctx context.Context, code string) (Started, error) {
	var in pageLogIn
	if !openAttempt(p.oneTimeKey(), byPage, code, &in) || !p.Now().Before(in.Until) {
		return Started{}, &fleet.Error{Code: fleet.CodeUnauthorized,
			Message: "this code is not known, or older than a minute", Hint: beginAgain}
	}
	if err := p.Store.UseOnce(ctx, hashOf(byPage+in.ID), in.Until); err != nil {
		return Started{}, err
	}
	return Started{Token: in.Token, Half: in.Half, Device: in.Device,
		Session: fleet.Session{User: in.User, ExpiresAt: in.ExpiresAt}}, nil
}

// Ticket returns a ticket with which a browser can read a path once, without sending a header. The request then counts
// as one of who. The ticket is valid until the returned time.
func (p *People) Ticket(who Principal, path string) (ticket string, until time.Time, err error) {
	if who.Credential != CredentialCookie {
		return "", until, &fleet.Error{Code: fleet.CodeConflict, Message: "tickets are for downloads of browsers",
			Hint: "Send the token with the request itself."}
	}
	until = p.Now().Add(ticketLife)
	ticket, err = sealAttempt(p.oneTimeKey(), byTicket, pageTicket{ID: rand.Text(), Session: who.issued, Path: path,
		Until: until})
	return ticket, until, err
}

// sentTicket is a ticket in a request, with the path that the request asks for.
type sentTicket struct{ text, path string }

type ticketKey struct{}

// WithTicket returns the context of a request that has a ticket. path is the requested path, without the ticket.
func WithTicket(ctx context.Context, text, path string) context.Context {
	return context.WithValue(ctx, ticketKey{}, sentTicket{text, path})
}

// ticketOf returns the ticket of a GET request. It ignores the ticket if the request also has a token in a header.
func ticketOf(r *http.Request) (sent sentTicket, ok bool) {
	sent, ok = r.Context().Value(ticketKey{}).(sentTicket)
	return sent, ok && r.Method == http.MethodGet && r.Header.Get("X-API-Key") == "" &&
		r.Header.Get("Authorization") == ""
}

// ticket uses a ticket and returns its principal. The session that requested the ticket must still exist.
func (a *Authenticator) ticket(ctx context.Context, sent sentTicket) (Principal, error) {
	var t pageTicket
	if !openAttempt(a.people.oneTimeKey(), byTicket, sent.text, &t) || !a.people.Now().Before(t.Until) ||
		t.Path != sent.path {
		return Principal{}, unauthorized("this ticket is of another download, or older than half a minute")
	}
	s, ok, err := a.people.session(ctx, t.Session)
	if err != nil {
		return Principal{}, err
	}
	if !ok {
		return Principal{}, sessionEnded()
	}
	if err := a.people.Store.UseOnce(ctx, hashOf(byTicket+t.ID), t.Until); fleet.CodeOf(err) == fleet.CodeConflict {
		return Principal{}, unauthorized("this ticket was used before")
	} else if err != nil {
		return Principal{}, err
	}
	return principalOf(s, CredentialSession), nil
}
