package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
)

const selectUsers = `SELECT name, role, tag_scope, password, issuer, subject, created_at, updated_at, last_login_at,
	disabled_at, access_given_at FROM users`

func scanUser(row scanner) (u fleet.User, err error) {
	var created, updated, lastLogIn, disabled, access sql.NullInt64
	var scope sql.NullString
	err = row.Scan(&u.Name, (*string)(&u.Role), &scope, &u.Password, &u.Identity.Issuer, &u.Identity.Subject, &created,
		&updated, &lastLogIn, &disabled, &access)
	u.CreatedAt, u.UpdatedAt, u.LastLogInAt = fromMillis(created), fromMillis(updated), fromMillis(lastLogIn)
	u.DisabledAt, u.AccessGivenAt, u.Scope = fromMillis(disabled), fromMillis(access), readTagScope(scope)
	return u, err
}

// Users returns all users, sorted by name.
func (s *Store) Users(ctx context.Context) ([]fleet.User, error) {
	return s.users(ctx, selectUsers+` ORDER BY name`)
}

// users reads users with the given query, and sets Altered in those whose row Muster did not write.
func (s *Store) users(ctx context.Context, text string, args ...any) ([]fleet.User, error) {
	users, in, err := readWithRoster(ctx, s, userRows, func() ([]fleet.User, error) {
		return collect(ctx, pool{s.reads}, scanUser, text, args...)
	})
	for i := range users {
		users[i].Altered = in[users[i].Name] != userSum(users[i])
	}
	return users, failure("read users", err)
}

// User returns the user with this name. It returns a not-found error if nobody has it, or if Muster did not write the
// user's row.
func (s *Store) User(ctx context.Context, name string) (fleet.User, error) {
	if !storable(name, fleet.MaxUserNameBytes) {
		return fleet.User{}, noUser(name)
	}
	users, err := s.users(ctx, selectUsers+` WHERE name = $1`, name)
	switch {
	case err != nil:
		return fleet.User{}, err
	case len(users) == 0:
		return fleet.User{}, noUser(name)
	case users[0].Altered:
		s.log.Error("a user was asked for whose row in the database was not written by Muster", "user", name)
		return fleet.User{}, noUser(name)
	}
	return users[0], nil
}

func noUser(name string) error { return fleet.NotFoundf("there is no user %q", name) }

// user returns a user that is about to be changed. It returns a conflict error if Muster did not write the row.
func (t *tx) user(name string) (fleet.User, error) {
	user, err := t.userAsIs(name)
	if err != nil {
		return user, err
	}
	return user, t.asWritten(userRows, name, userSum(user))
}

// userAsIs returns a user, with Altered set if Muster did not write the row.
func (t *tx) userAsIs(name string) (fleet.User, error) {
	user, err := scanUser(t.row(selectUsers+` WHERE name = $1`, name))
	if absent(err) {
		return user, noUser(name)
	}
	if err != nil {
		return user, err
	}
	in, _, err := t.roster(userRows)
	user.Altered = in[name] != userSum(user)
	return user, err
}

// CreateUser stores a new user. It returns a conflict error if a user or a token has the name. Users and tokens must
// not have the same name, because the audit names only one of them as the actor.
func (s *Store) CreateUser(ctx context.Context, user fleet.User) (fleet.User, error) {
	return write(ctx, s, "create user", func(t *tx) (fleet.User, error) {
		return t.createUser(user)
	})
}

func (t *tx) createUser(user fleet.User) (fleet.User, error) {
	if !storable(user.Name, fleet.MaxUserNameBytes) || user.Name == "" || fleet.ReservedName(user.Name) {
		return user, fleet.Invalidf("name", "%q cannot be the name of a user", user.Name)
	}
	if err := user.Validate(); err != nil {
		return user, err
	}
	user.CreatedAt, user.UpdatedAt = t.now, t.now
	if user.Identity == (fleet.Identity{}) {
		user.AccessGivenAt = t.now
	}
	if err := t.nameFree(user.Name); err != nil {
		return user, err
	}
	scope, err := t.putScope(user.Scope)
	if err != nil {
		return user, err
	}
	t.record("user.create", user.Name, string(user.Role)+describeScope(user.Scope))
	if err := t.addToRoster(userRows, user.Name, userSum(user)); err != nil {
		return user, err
	}
	return user, t.exec(`INSERT INTO users (name, role, tag_scope, password, issuer, subject, created_at, updated_at,
		access_given_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8)`, user.Name, string(user.Role), scope, user.Password,
		user.Identity.Issuer, user.Identity.Subject, millis(t.now), millis(user.AccessGivenAt))
}

// nameFree returns a conflict error for a name that a user or a token has. Letter case does not matter.
func (t *tx) nameFree(name string) error {
	names, err := collect(t.ctx, t.session, func(row scanner) (taken [2]string, err error) {
		return taken, row.Scan(&taken[0], &taken[1])
	}, `SELECT 'user', name FROM users UNION ALL SELECT 'token', name FROM tokens`)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(names, func(taken [2]string) bool { return strings.EqualFold(taken[1], name) })
	if i < 0 {
		return nil
	}
	return &fleet.Error{Code: fleet.CodeConflict,
		Message: fmt.Sprintf("there is a %s %q already", names[i][0], names[i][1]),
		Hint:    "Choose another name: histories show one name for who acted."}
}

// PutUser changes a user. If something changes, all sessions of the user end. A log-in link stays when only the role or
// the scope changes, unless the user becomes an administrator: the link may live longer than one of an administrator
// does. It ends with a new password. PutUser returns a conflict error for a user of single sign-on or a disabled user,
// and if no administrator who can log in with a password would be left.
func (s *Store) PutUser(ctx context.Context, put fleet.PutUser) (fleet.User, error) {
	return write(ctx, s, "put user", func(t *tx) (fleet.User, error) {
		user, err := t.ownUser(put.Name)
		if err != nil {
			return user, err
		}
		return t.putUser(put)
	})
}

// ownUser returns a user whose role and password are kept by Muster and not by a provider. It returns a conflict error
// for a user of single sign-on.
func (t *tx) ownUser(name string) (fleet.User, error) {
	if !storable(name, fleet.MaxUserNameBytes) {
		return fleet.User{}, noUser(name)
	}
	user, err := t.user(name)
	if err == nil && user.Identity != (fleet.Identity{}) {
		err = &fleet.Error{Code: fleet.CodeConflict, Message: name + " logs in by single sign-on only",
			Hint: "Change the user's groups at the provider, or what --oidc-role makes of them. The next log-in heeds it; " +
				"`muster user disable NAME` ends the sessions of now."}
	}
	return user, err
}

func (t *tx) putUser(put fleet.PutUser) (fleet.User, error) {
	if !storable(put.Name, fleet.MaxUserNameBytes) {
		return fleet.User{}, noUser(put.Name)
	}
	was, err := t.user(put.Name)
	if err != nil {
		return was, err
	}
	if was.Disabled() {
		return was, disabledUser(was.Name)
	}
	is := was
	if put.Role != nil && *put.Role != was.Role {
		is.Role = *put.Role
		t.record("user.role", is.Name, fmt.Sprintf("%s, was %s", is.Role, was.Role))
	}
	if put.Scope != nil {
		is.Scope = *put.Scope
	} else if is.Role.Includes(fleet.RoleAuthor) {
		is.Scope = fleet.Scope{}
	}
	if is.Scope != was.Scope {
		t.record("user.scope", is.Name, fmt.Sprintf("%s, was %s", is.Scope, was.Scope))
	}
	if put.Password != nil {
		is.Password = *put.Password
		if !put.Own {
			is.AccessGivenAt = t.now
		}
		t.record("user.password", is.Name, "")
	}
	if is == was {
		return is, nil
	}
	if administers(was) && !administers(is) {
		if err := t.oneAdministratorLeft(was.Name); err != nil {
			return was, err
		}
	}
	if err := is.Validate(); err != nil {
		return was, err
	}
	scope, err := t.putScope(is.Scope)
	if err != nil {
		return was, err
	}
	is.UpdatedAt = t.now
	if err := t.exec(`UPDATE users SET role = $2, password = $3, updated_at = $4, tag_scope = $5,
		access_given_at = $6 WHERE name = $1`, is.Name, string(is.Role), is.Password, millis(t.now), scope,
		millis(is.AccessGivenAt)); err != nil {
		return was, err
	}
	if err := t.addToRoster(userRows, is.Name, userSum(is)); err != nil {
		return was, err
	}
	becameAdmin := is.Role == fleet.RoleAdmin && was.Role != fleet.RoleAdmin
	if is.Password == was.Password && !becameAdmin {
		return is, t.endSessions(is.Name)
	}
	return is, t.endAccess(is.Name)
}

func (t *tx) endSessions(name string) error {
	return t.deleteSessions(`user_name = $1`, name)
}

// endAccess ends all sessions of a user, and deletes the user's log-in links.
func (t *tx) endAccess(name string) error {
	if err := t.endSessions(name); err != nil {
		return err
	}
	return t.deleteLinks(`user_name = $1`, name)
}

// administers reports whether a user can log in with a password as an administrator.
func administers(u fleet.User) bool {
	return u.Role == fleet.RoleAdmin && u.Password != "" && !u.Altered && !u.Disabled()
}

// oneAdministratorLeft returns a conflict error if no other user than the one named without can log in with a password
// as an administrator.
func (t *tx) oneAdministratorLeft(without string) error {
	users, err := collect(t.ctx, t.session, scanUser, selectUsers+` WHERE name <> $1`, without)
	if err != nil {
		return err
	}
	in, _, err := t.roster(userRows)
	if err != nil {
		return err
	}
	if slices.ContainsFunc(users, func(u fleet.User) bool { return administers(u) && in[u.Name] == userSum(u) }) {
		return nil
	}
	return &fleet.Error{
		Code: fleet.CodeConflict, Message: without + " is the last administrator who can log in with a password",
		Hint: "Make another one first: `muster user create NAME --role admin`, or `muster user role NAME admin`.",
	}
}

// DeleteUser deletes a user with all sessions and log-in links. It returns a conflict error if this is the last
// administrator who can log in with a password.
func (s *Store) DeleteUser(ctx context.Context, name string) error {
	if !storable(name, fleet.MaxUserNameBytes) {
		return noUser(name)
	}
	_, err := write(ctx, s, "delete user", func(t *tx) (none struct{}, err error) {
		user, err := t.userAsIs(name)
		if err != nil {
			return none, err
		}
		if administers(user) {
			if err := t.oneAdministratorLeft(name); err != nil {
				return none, err
			}
		}
		if err := t.endAccess(name); err != nil {
			return none, err
		}
		t.record("user.delete", name, string(user.Role))
		if err := t.dropFromRoster(userRows, name); err != nil {
			return none, err
		}
		return none, t.exec(`DELETE FROM users WHERE name = $1`, name)
	})
	return err
}

// DisableUser keeps a user from logging in, also by single sign-on, and ends all sessions and log-in links of the
// user. It returns a conflict error if this is the last administrator who can log in with a password.
func (s *Store) DisableUser(ctx context.Context, name string) (fleet.User, error) {
	return s.switchUser(ctx, name, func(t *tx, user fleet.User) (fleet.User, error) {
		if user.Disabled() {
			return user, nil
		}
		if administers(user) {
			if err := t.oneAdministratorLeft(user.Name); err != nil {
				return user, err
			}
		}
		user.DisabledAt = t.now
		t.record("user.disable", user.Name, string(user.Role)+describeScope(user.Scope))
		if err := t.exec(`UPDATE users SET disabled_at = $2 WHERE name = $1`, user.Name, millis(t.now)); err != nil {
			return user, err
		}
		if err := t.endAccess(user.Name); err != nil {
			return user, err
		}
		return user, t.addToRoster(userRows, user.Name, userSum(user))
	})
}

// EnableUser lets a disabled user log in again. Role and password are those from before.
func (s *Store) EnableUser(ctx context.Context, name string) (fleet.User, error) {
	return s.switchUser(ctx, name, func(t *tx, user fleet.User) (fleet.User, error) {
		if !user.Disabled() {
			return user, nil
		}
		user.DisabledAt = time.Time{}
		t.record("user.enable", user.Name, string(user.Role)+describeScope(user.Scope))
		if err := t.exec(`UPDATE users SET disabled_at = NULL WHERE name = $1`, user.Name); err != nil {
			return user, err
		}
		return user, t.addToRoster(userRows, user.Name, userSum(user))
	})
}

func (s *Store) switchUser(ctx context.Context, name string,
	to func(*tx, fleet.User) (fleet.User, error)) (fleet.User, error) {
	if !storable(name, fleet.MaxUserNameBytes) {
		return fleet.User{}, noUser(name)
	}
	return write(ctx, s, "disable or enable user", func(t *tx) (fleet.User, error) {
		user, err := t.user(name)
		if err != nil {
			return user, err
		}
		return to(t, user)
	})
}

// disabledUser returns the error for a log-in of a disabled user, and for a change of such a user.
func disabledUser(name string) error {
	return &fleet.Error{Code: fleet.CodeConflict, Message: "the user " + name + " is disabled",
		Hint: "An administrator enables the user with `muster user enable " + name + "`."}
}
