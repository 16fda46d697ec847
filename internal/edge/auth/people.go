package auth

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"strings"
	"sync"
	"time"

	"golang.org/x/text/secure/precis"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// PeopleStore stores users, sessions and log-in links. Each part is declared beside the code that calls it. The
// errors are described in package store.
type PeopleStore interface {
	UserStore
	SessionStore
	LoginLinkStore
	SignOnStore
	FailureLog
}

// SessionTimes say when sessions end.
type SessionTimes struct {
	Idle time.Duration // how long a session may be unused before it ends
	Life time.Duration // how long a session lasts that begins now
}

// DefaultSessionTimes are a day and a week.
var DefaultSessionTimes = SessionTimes{Idle: 24 * time.Hour, Life: 7 * 24 * time.Hour}

// PeopleOptions configure how people log in and how their sessions are recognised.
type PeopleOptions struct {
	Store     PeopleStore
	Log       *slog.Logger
	Now       func() time.Time     // nil: time.Now
	Uptime    func() time.Duration // time since the start by a monotonic clock, for limits; nil: since NewPeople
	DeviceKey []byte               // authenticates device cookies
	Times     func() SessionTimes  // called each time that they are needed; nil: DefaultSessionTimes
	Cost      PasswordCost         // cost of new password hashes; zero: DefaultPasswordCost
	LinkFile  string               // path of the file with the link of a new administrator; see WriteLinkFile; "": none
	Issuer    string               // issuer of single sign-on; "": it is off, and sessions that it began are refused
}

// People logs users in and out, and recognises their sessions.
type People struct {
	PeopleOptions
	log       *slog.Logger
	passwords *passwords
	throttle  *throttle
	queues    *accountQueues
	isFresh   func(context.Context, fleet.Session) bool // reports whether a session of single sign-on is still valid

	mu    sync.Mutex
	known map[string]fleet.Session // sessions as they were last read, by hash of the token; guarded by mu; see session
	used  map[string]time.Time     // times at which sessions were used, by ID, not stored yet; guarded by mu
}

// NewPeople returns a People. It reads nothing from the store.
func NewPeople(o PeopleOptions) *People {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Uptime == nil {
		began := time.Now() // contains a reading of the clock that cannot be set
		o.Uptime = func() time.Duration { return time.Since(began) }
	}
	if o.Times == nil {
		o.Times = func() SessionTimes { return DefaultSessionTimes }
	}
	return &People{PeopleOptions: o, log: o.Log.With(logkey.Component, "auth"), passwords: newPasswords(o.Cost),
		throttle: newThrottle(), queues: newAccountQueues(), known: map[string]fleet.Session{},
		used: map[string]time.Time{}}
}

// Client describes the sender of a log-in.
type Client struct {
	Address string
	Name    string // the request's User-Agent
	Device  string // the client's device cookie; "": it sent none
	Browser bool   // The client is a page of Muster; its session gets two halves.
}

// Started is a session that a client has just got. Its secrets exist only here: the store has hashes.
type Started struct {
	Session fleet.Session
	Token   string
	Half    string // the second half of a browser's session, whose token is a cookie; "": the client is a program
	Device  string // the device cookie; "": the user gets none
}

// maxTypedNameBytes bounds a user's name as it is typed. The normalised name may be shorter.
const maxTypedNameBytes = 4 * fleet.MaxUserNameBytes

// UserName returns the form of a user's name that is stored: lower case and normalised.
func UserName(name string) (string, error) {
	if len(name) > maxTypedNameBytes {
		return "", fleet.Invalidf("name", "the name of a user has at most %d bytes", fleet.MaxUserNameBytes)
	}
	text, err := precis.UsernameCaseMapped.String(name)
	switch {
	case err != nil || text == "" || strings.ContainsAny(text, "/\\?#%\"'<>`"):
		return "", fleet.Invalidf("name",
			"the name of a user is made of letters, digits and signs such as . - _ @, without blanks")
	case len(text) > fleet.MaxUserNameBytes:
		return "", fleet.Invalidf("name", "the name of a user has at most %d bytes", fleet.MaxUserNameBytes)
	case fleet.ReservedName(text):
		return "", fleet.ReservedNameError(text)
	}
	return text, nil
}

// LogIn starts a session for a user name and a password. An unknown name costs the same time as a wrong password, and
// gets the same answer.
func (p *People) LogIn(ctx context.Context, name, password string, from Client) (started Started,
	err error) {
	if len(password) > maxPasswordBytes { // No user has such a password, so hashing it is wasted work.
		password = ""
	}
	canonical, user, err := p.claimed(ctx, name)
	if err != nil {
		return Started{}, err
	}
	c := claim{account: hashOf(canonical), user: user, password: password, from: from, refusal: wrongPassword()}
	err = p.proven(ctx, c, func(ctx context.Context, outdated bool) error {
		in := fleet.LogIn{Password: user.Password}
		if outdated {
			if rehashed, err := p.passwords.hash(ctx, password); err == nil { // otherwise the next log-in tries again
				in.Rehashed, user.Password = rehashed, rehashed
			}
		}
		started = p.newSession(user, from)
		in.Session = started.Session
		err := p.Store.StartSession(fleet.WithActor(ctx, user.Name), in)
		p.noteRefused(ctx, err, user.Name, from)
		return err
	})
	if err != nil {
		return Started{}, err
	}
	return started, nil
}

// noteRefused records in the audit that a person proved who they are and still could not log in, for example because
// the user is disabled. err is the error of the log-in; only a conflict is recorded.
func (p *People) noteRefused(ctx context.Context, err error, user string, from Client) {
	if fleet.CodeOf(err) != fleet.CodeConflict {
		return
	}
	err = p.Store.RecordBoundedBySubject(fleet.WithActor(ctx, fleet.Anonymous), "login.fail", user,
		fleet.Reason(err)+", from "+from.Address)
	if err != nil {
		p.log.Error("a refused log-in is not in the audit", logkey.Address, from.Address, logkey.Err(err))
	}
}

// claimed returns the stored form of a name that a client sent, and the user with that name. user is zero if there is
// no such user.
func (p *People) claimed(ctx context.Context, name string) (canonical string, user fleet.User, err error) {
	if canonical, err = UserName(name); err != nil {
		return name, user, nil //nolint:nilerr // no user has such a name
	}
	user, err = p.Store.User(ctx, canonical)
	if fleet.CodeOf(err) == fleet.CodeNotFound {
		return canonical, fleet.User{}, nil
	}
	return canonical, user, err
}

func wrongPassword() error {
	return &fleet.Error{Code: fleet.CodeUnauthorized, Message: "the user name or the password is wrong",
		Hint: "Forgotten? An administrator gets you a log-in link with `muster login-link NAME`."}
}

// newSession returns a session with a new token. The caller stores it.
func (p *People) newSession(user fleet.User, from Client) Started {
	now := p.Now().UTC().Truncate(time.Millisecond)
	token := newSessionToken()
	started := Started{Token: token, Device: p.device(user), Session: fleet.Session{Identity: user.Identity,
		ID: strings.ToLower(rand.Text()), User: user.Name, Role: user.Role, Scope: user.Scope, Hash: hashOf(token),
		CreatedAt: now, RotatedAt: now, LastUsedAt: now, ExpiresAt: now.Add(p.Times().Life), Address: from.Address,
		Client: from.Name,
	}}
	if from.Browser {
		started.Half = halfPrefix + strings.ToLower(rand.Text()+rand.Text())
		started.Session.Half = hashOf(started.Half)
	}
	return started
}

// device returns the value of a user's device cookie; "" for a user without a password. The cookie proves that its
// client logged in since the password was last changed. It gives no access.
func (p *People) device(user fleet.User) string {
	if user.Password == "" {
		return ""
	}
	mac := hmac.New(sha256.New, p.DeviceKey)
	mac.Write([]byte(user.Name + "\x00" + user.Password))
	return hex.EncodeToString(mac.Sum(nil))
}

func (p *People) knows(user fleet.User, device string) bool {
	return user.Password != "" && hmac.Equal([]byte(device), []byte(p.device(user)))
}
