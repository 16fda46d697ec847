package auth

import (
	"context"
	"strings"

	"muster/internal/fleet"
)

// UserReader reads users. All code that finds out who a person is uses it.
type UserReader interface {
	Users(ctx context.Context) ([]fleet.User, error)
	User(ctx context.Context, name string) (fleet.User, error)
}

// UserStore stores users.
type UserStore interface {
	UserReader
	CreateUser(ctx context.Context, user fleet.User) (fleet.User, error)
	PutUser(ctx context.Context, put fleet.PutUser) (fleet.User, error)
	DeleteUser(ctx context.Context, name string) error
	DisableUser(ctx context.Context, name string) (fleet.User, error)
	EnableUser(ctx context.Context, name string) (fleet.User, error)
}

// Users returns all users, sorted by name.
func (p *People) Users(ctx context.Context) ([]fleet.User, error) { return p.Store.Users(ctx) }

// User returns the user with this name, in any letter case, or a not-found error.
func (p *People) User(ctx context.Context, name string) (fleet.User, error) {
	return p.Store.User(ctx, strings.ToLower(name))
}

// CreateUser creates a user with the name, role and scope of wanted. If password is "", the user can log in only by a
// log-in link.
func (p *People) CreateUser(ctx context.Context, wanted fleet.User, password string) (fleet.User, error) {
	user := fleet.User{Role: wanted.Role, Scope: wanted.Scope}
	var err error
	if user.Name, err = UserName(wanted.Name); err != nil {
		return user, err
	}
	if password != "" {
		if user.Password, err = p.newPassword(ctx, user.Name, password); err != nil {
			return user, err
		}
	}
	return p.Store.CreateUser(ctx, user)
}

// newPassword checks a new password and returns its hash.
func (p *People) newPassword(ctx context.Context, user, password string) (string, error) {
	if err := validatePassword(user, password); err != nil {
		return "", err
	}
	return p.passwords.hash(ctx, password)
}

// PutUser sets the role and scope of a user where they are given and, unless password is "", the password. If one of
// them changes, all sessions of the user end.
func (p *People) PutUser(ctx context.Context, put fleet.PutUser, password string) (fleet.User, error) {
	user, err := p.User(ctx, put.Name)
	if err != nil {
		return user, err
	}
	put.Name = user.Name
	if password != "" {
		hash, err := p.newPassword(ctx, user.Name, password)
		if err != nil {
			return user, err
		}
		put.Password = &hash
	}
	defer p.forget(func(s fleet.Session) bool { return s.User == user.Name })
	return p.Store.PutUser(ctx, put)
}

// DeleteUser deletes a user and ends all sessions of the user.
func (p *People) DeleteUser(ctx context.Context, name string) error {
	name = strings.ToLower(name)
	defer p.forget(func(s fleet.Session) bool { return s.User == name })
	return p.Store.DeleteUser(ctx, name)
}

// DisableUser ends all sessions of a user. The user cannot log in again until EnableUser is called.
func (p *People) DisableUser(ctx context.Context, name string) (fleet.User, error) {
	name = strings.ToLower(name)
	defer p.forget(func(s fleet.Session) bool { return s.User == name })
	return p.Store.DisableUser(ctx, name)
}

// EnableUser lets a disabled user log in again.
func (p *People) EnableUser(ctx context.Context, name string) (fleet.User, error) {
	return p.Store.EnableUser(ctx, strings.ToLower(name))
}

// ChangePassword sets a new password for the caller, ends all sessions of the caller and starts a new one. It needs
// the current password, because anybody can sit down at a session that was left open.
func (p *People) ChangePassword(ctx context.Context, who Principal, current, password string, from Client) (
	started Started, err error) {
	if who.Session == "" {
		return Started{}, &fleet.Error{Code: fleet.CodeConflict, Message: "a token has no password",
			Hint: "Log in as a user first, or use `muster user password NAME` with an administrator's token."}
	}
	user, err := p.Store.User(ctx, who.Name)
	if err != nil {
		return Started{}, err
	}
	if err := validatePassword(user.Name, password); err != nil {
		return Started{}, err
	}
	c := claim{account: hashOf(user.Name), user: user, password: current, from: from, refusal: &fleet.Error{
		Code: fleet.CodeForbidden, Message: "the current password is wrong",
		Hint: "Forgotten? An administrator gets you a log-in link with `muster login-link " + user.Name + "`."}}
	err = p.proven(ctx, c, func(ctx context.Context, _ bool) error {
		now, err := p.Store.User(ctx, user.Name)
		if err != nil {
			return err
		}
		if now.Password != user.Password { // The password was changed while this request waited for its turn.
			return c.refusal
		}
		hash, err := p.passwords.hash(ctx, password)
		if err != nil {
			return err
		}
		defer p.forget(func(s fleet.Session) bool { return s.User == user.Name })
		if user, err = p.Store.PutUser(ctx, fleet.PutUser{Name: user.Name, Password: &hash, Own: true}); err != nil {
			return err
		}
		from.Browser = who.Credential == CredentialCookie
		started = p.newSession(user, from)
		return p.Store.StartSession(ctx, fleet.LogIn{Session: started.Session, Password: hash})
	})
	return started, err
}
