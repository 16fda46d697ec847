package auth

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
)

// LoginLinkStore stores log-in links.
type LoginLinkStore interface {
	CreateLoginLink(ctx context.Context, link fleet.LoginLink) error
	LoginLink(ctx context.Context, hash string) (fleet.LoginLink, error)
	UseLoginLink(ctx context.Context, use fleet.UseLink) error
}

// linkLife is how long a log-in link can be used, and mostLinkLife how long an administrator may choose that to be for
// the link of a user who is no administrator.
const (
	linkLife     = fleet.LinkLife
	mostLinkLife = 24 * time.Hour
)

// LoginPath is the path of a log-in link up to its code, which has to be appended.
const LoginPath = "/ui/login?code="

// CallbackPath is the path to which the provider of single sign-on redirects the browser after a log-in.
const CallbackPath = "/ui/login/callback"

// SignOnPage is the path that redirects the browser to the provider of single sign-on.
const SignOnPage = LogInPage + "/single-sign-on"

// LogInPage is the page on which people log in.
const LogInPage = "/ui/login"

// NewLink creates a log-in link. With the link the user with this name sets a new password or, if user is "", somebody
// becomes a new administrator. code is the secret in the link. life is how long it can be used; 0: 15 minutes. The
// store refuses a longer life for the link of an administrator.
func (p *People) NewLink(ctx context.Context, user string, life time.Duration) (code string, link fleet.LoginLink,
	err error) {
	switch {
	case life == 0:
		life = linkLife
	case user == "":
		return "", link, fleet.Invalidf("expiresInS", "a link that makes an administrator expires after 15 minutes: leave "+
			"the time out, or name a user")
	case life < 0 || life > mostLinkLife:
		return "", link, fleet.Invalidf("expiresInS", "a log-in link expires after a day at the latest")
	}
	code = strings.ToLower(rand.Text() + rand.Text())
	link = fleet.LoginLink{Hash: hashOf(code), User: strings.ToLower(user),
		ExpiresAt: p.Now().UTC().Truncate(time.Millisecond).Add(life)}
	if err := p.Store.CreateLoginLink(ctx, link); err != nil {
		return "", fleet.LoginLink{}, err
	}
	if user == "" {
		p.removeLinkFile() // The new link has replaced the one in the file.
	}
	return code, link, nil
}

// FirstLink creates a log-in link for a new administrator. If there is an administrator already who can log in with a
// password, it creates none, and code is "". In both cases it removes the file with an earlier link.
func (p *People) FirstLink(ctx context.Context) (code string, err error) {
	users, err := p.Store.Users(ctx)
	if err != nil || slices.ContainsFunc(users, func(u fleet.User) bool {
		return u.Role == fleet.RoleAdmin && u.Password != "" && !u.Disabled() && !u.Altered
	}) {
		p.removeLinkFile()
		return "", err
	}
	code, _, err = p.NewLink(ctx, "", 0)
	return code, err
}

// Link returns the log-in link with this code. It returns a not-found error for a link that was used or replaced, or
// has expired.
func (p *People) Link(ctx context.Context, code string) (fleet.LoginLink, error) {
	return p.Store.LoginLink(ctx, hashOf(code))
}

// UseLink uses a log-in link and starts a session. It sets the password of the link's user or, if the link has none,
// creates an administrator with this name and password.
func (p *People) UseLink(ctx context.Context, code, name, password string, from Client) (Started, error) {
	link, err := p.Link(ctx, code) // This comes before the hash, because a wrong code must cost nothing.
	if err != nil {
		return Started{}, err
	}
	user := fleet.User{Name: link.User, Role: fleet.RoleAdmin}
	if link.User == "" {
		if user.Name, err = UserName(name); err != nil {
			return Started{}, err
		}
	} else if user, err = p.Store.User(ctx, link.User); err != nil {
		return Started{}, err
	}
	if user.Password, err = p.newPassword(ctx, user.Name, password); err != nil {
		return Started{}, err
	}
	from.Browser = true
	started := p.newSession(user, from)
	defer p.forget(func(s fleet.Session) bool { return s.User == user.Name })
	err = p.Store.UseLoginLink(fleet.WithActor(ctx, user.Name),
		fleet.UseLink{Hash: link.Hash, User: user.Name, Password: user.Password, Session: started.Session})
	if err == nil && link.User == "" {
		p.removeLinkFile()
	}
	return started, err
}
