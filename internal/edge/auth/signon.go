package auth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"muster/internal/adapter/signon"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

const (
	// SignOnCookie holds the sealed attempt of a log-in by single sign-on, so that only the browser that began the
	// log-in can finish it.
	SignOnCookie = "muster-sign-on"
	// SignOnLife is how long a log-in at the provider may take.
	SignOnLife = 10 * time.Minute

	maxSignOns = 16 // log-ins for which the provider is being asked at the same time
	maxLogOuts = 4  // logout tokens that are checked at the same time; others wait
)

// SignOnStore stores the users and sessions that come from a provider.
type SignOnStore interface {
	SignOn(ctx context.Context, in fleet.SignOn) (fleet.User, error)
	PutSignedOn(ctx context.Context, of fleet.Identity, role fleet.Role, scope fleet.Scope) error
	EndSignedOn(ctx context.Context, of fleet.Identity) error
	SignOut(ctx context.Context, out fleet.SignedOut) ([]fleet.Session, error)
	ProviderGrant(ctx context.Context, session string) (fleet.Secret, error)
	PutProviderGrant(ctx context.Context, session string, grant fleet.Secret) error
}

// SignOnOptions configure single sign-on.
type SignOnOptions struct {
	People   *People
	Provider *signon.Provider
	Name     string // the provider's name in texts for people
	Rules    []RoleRule
	Key      []byte // key of 32 bytes that seals the attempts of log-ins
}

// SignOn lets people log in through a provider of single sign-on.
type SignOn struct {
	SignOnOptions
	places  chan struct{} // holds a token for each log-in for which the provider is being asked
	logOuts chan struct{} // holds a token for each logout token that is being checked

	due      chan fleet.Session // sessions for which Run asks for the groups
	checking singleflight.Group // questions under way, by session
	mu       sync.Mutex
	checks   map[string]lastCheck // guarded by mu; by session
}

// NewSignOn returns a SignOn, and starts no goroutine. From then on o.People asks isFresh whether a session that
// single sign-on began is still valid.
func NewSignOn(o SignOnOptions) *SignOn {
	s := &SignOn{SignOnOptions: o, places: make(chan struct{}, maxSignOns), logOuts: make(chan struct{}, maxLogOuts),
		due: make(chan fleet.Session, maxDue), checks: map[string]lastCheck{}}
	o.People.isFresh = s.isFresh
	return s
}

// ProviderName returns the name by which people know the provider.
func (s *SignOn) ProviderName() string { return s.Name }

// Away reports whether the provider did not answer, or not properly, when it was last asked.
func (s *SignOn) Away() bool { return s.Provider.Impairment() != nil }

// LogOutURL returns the page on which people log out at the provider as well; "" if the provider has none.
func (s *SignOn) LogOutURL() string { return s.Provider.LogOutURL() }

// browserAttempt is the content of a sign-on cookie: a log-in that a browser has begun.
type browserAttempt struct {
	signon.Challenge
	Until time.Time
}

const byBrowser = "single sign-on of a browser"

// Begin starts a log-in. to is the URL to which the caller redirects the browser. cookie is for the browser, and
// Finish needs it.
func (s *SignOn) Begin(ctx context.Context) (to, cookie string, err error) {
	begun := browserAttempt{Until: s.People.Now().Add(SignOnLife), Challenge: signon.Challenge{
		State: rand.Text() + rand.Text(), Nonce: rand.Text() + rand.Text(), Verifier: oauth2.GenerateVerifier()}}
	if to, err = s.Provider.AuthURL(ctx, begun.Challenge); err != nil {
		return "", "", err
	}
	cookie, err = sealAttempt(s.Key, byBrowser, begun)
	return to, cookie, err
}

// Finish finishes a log-in and starts the session. brought are the URL parameters with which the provider redirected
// the browser back, and cookie is the one from Begin.
func (s *SignOn) Finish(ctx context.Context, cookie string, brought url.Values, from Client) (Started, error) {
	var begun browserAttempt
	if !openAttempt(s.Key, byBrowser, cookie, &begun) || !s.People.Now().Before(begun.Until) ||
		subtle.ConstantTimeCompare([]byte(begun.State), []byte(only(brought, "state"))) != 1 {
		return Started{}, &fleet.Error{Code: fleet.CodeUnauthorized,
			Message: "this log-in was not begun in this browser, or more than ten minutes ago", Hint: beginAgain}
	}
	code := only(brought, "code")
	if brought.Has("error") || code == "" {
		return Started{}, &fleet.Error{Code: fleet.CodeUnauthorized,
			Message: fmt.Sprintf("%s did not log you in (%.60q)", s.Name, only(brought, "error")), Hint: beginAgain}
	}
	answer := signon.Answer{Code: code, Issuer: only(brought, "iss")}
	if answer.Issuer == "" && brought.Has("iss") {
		answer.Issuer = "blank, or twice"
	}
	used := attemptUse{hash: hashOf(begun.State), until: begun.Until}
	from.Browser = true
	return s.proven(ctx, from, used, func(ctx context.Context) (fleet.ProvenIdentity, error) {
		return s.Provider.Redeem(ctx, answer, begun.Challenge)
	})
}

const beginAgain = "Begin again with the log-in page."

// only returns the value of a parameter that occurs exactly once, else "".
func only(from url.Values, name string) string {
	if values := from[name]; len(values) == 1 {
		return values[0]
	}
	return ""
}

// attemptUse identifies an attempt to log in, so that the store lets it start only one session. until is when the
// attempt expires.
type attemptUse struct {
	hash  string
	until time.Time
}

// proven starts a session for the person that prove returns. It checks the limits of log-ins first.
func (s *SignOn) proven(ctx context.Context, from Client, used attemptUse,
	prove func(context.Context) (fleet.ProvenIdentity, error)) (Started, error) {
	try := signOnTry(from.Address)
	if err := s.People.throttle.begin(try, s.People.Uptime()); err != nil {
		return Started{}, err
	}
	leave, err := s.enter()
	if err != nil {
		s.People.throttle.forgive(try)
		return Started{}, err
	}
	defer leave()
	person, err := prove(ctx)
	if err != nil {
		s.noteFailure(ctx, err, from)
		return Started{}, err
	}
	s.People.throttle.forgive(try)
	return s.start(ctx, person, used, from)
}

// enter takes one of the places for log-ins that ask the provider, or returns a too_many error. The caller calls
// leave when its log-in is over.
func (s *SignOn) enter() (leave func(), err error) {
	select {
	case s.places <- struct{}{}:
		return func() { <-s.places }, nil
	default:
		return nil, &fleet.Error{Code: fleet.CodeTooMany, Message: "many people log in at this moment",
			Hint: "Try again in a few seconds."}
	}
}

// noteFailure records in the audit that the provider did not prove who a person is. It records only an unauthorized
// error.
func (s *SignOn) noteFailure(ctx context.Context, err error, from Client) {
	if fleet.CodeOf(err) == fleet.CodeUnauthorized {
		s.recordFailure(ctx, fleet.Reason(err), from)
	}
}

// start starts the session of a person, with the role that follows from their present groups.
func (s *SignOn) start(ctx context.Context, person fleet.ProvenIdentity, used attemptUse, from Client) (Started,
	error) {
	role, scope, ok := roleOf(s.Rules, person.Groups)
	if !ok {
		return Started{}, s.refuse(ctx, person, from)
	}
	started := s.People.newSession(fleet.User{Role: role, Scope: scope, Identity: person.Identity}, from)
	if person.Session != "" {
		started.Session.ProviderSession = hashOf(person.Session)
	}
	user, err := s.People.Store.SignOn(fleet.WithActor(ctx, fleet.Anonymous), fleet.SignOn{
		Identity: person.Identity, Names: namesFor(person), Role: role, Scope: scope, Session: started.Session,
		Grant: s.keep(person).secret(), Attempt: used.hash, AttemptUntil: used.until,
	})
	if err != nil {
		s.People.noteRefused(ctx, err, user.Name, from)
		return Started{}, err
	}
	s.People.forget(func(v fleet.Session) bool { return v.User == user.Name })
	started.Session.User = user.Name
	return started, nil
}

// refuse ends the access of a person whose groups give no role, and returns the error for that person.
func (s *SignOn) refuse(ctx context.Context, person fleet.ProvenIdentity, from Client) error {
	ctx = fleet.WithActor(ctx, fleet.Anonymous)
	if err := s.People.Store.EndSignedOn(ctx, person.Identity); err != nil {
		return err
	}
	s.People.forget(func(v fleet.Session) bool { return v.Identity == person.Identity })
	s.recordFailure(ctx, fmt.Sprintf("no group of the subject %q gives a role", person.Subject), from)
	return &fleet.Error{Code: fleet.CodeForbidden, Message: "you are logged in to " + s.Name +
		", and none of your groups there has access to Muster",
		Hint: "Ask those who run Muster to let you in: with a group that --oidc-role names. Then log in again."}
}

// recordFailure records a failed log-in in the audit. If there are many, further ones are only counted.
func (s *SignOn) recordFailure(ctx context.Context, why string, from Client) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordLimit)
	defer cancel()
	err := s.People.Store.RecordBoundedBySubject(fleet.WithActor(ctx, fleet.Anonymous), "login.fail", "",
		"single sign-on: "+why+", from "+from.Address)
	if err != nil {
		s.People.log.Error("a failed log-in is not in the audit", logkey.Address, from.Address, logkey.Err(err))
	}
}

// namesFor returns names for a new user, best first. Another user here may already have the name that the provider has
// for the person, so the last names are unique to this identity.
func namesFor(person fleet.ProvenIdentity) (names []string) {
	sum := sha256.Sum256([]byte(person.Issuer + "\x00" + person.Subject))
	own := hex.EncodeToString(sum[:6])
	if name, err := UserName(strings.TrimSpace(person.Name)); err == nil {
		names = append(names, name)
		if len(name)+1+len(own) <= fleet.MaxUserNameBytes {
			names = append(names, name+"-"+own)
		}
	}
	return append(names, "user-"+own)
}
