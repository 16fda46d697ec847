package store

import (
	"context"
	"time"

	"muster/internal/fleet"
)

// DisableUser ends every session and log-in link of a user, who cannot log in any more, by single sign-on neither. It
// answers conflict for the last administrator who can log in with a password.
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
		return user, t.enroll(userRows, user.Name, userSum(user))
	})
}

// EnableUser lets a user log in again, with the role and the password of before.
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
		return user, t.enroll(userRows, user.Name, userSum(user))
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

// disabledUser is the answer to the log-in of a user that is disabled, and to any other change of it.
func disabledUser(name string) error {
	return &fleet.Error{Code: fleet.CodeConflict, Message: "the user " + name + " is disabled",
		Hint: "An administrator enables the user with `muster user enable " + name + "`."}
}
