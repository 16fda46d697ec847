package store

import (
	"context"
	"errors"
	"strings"
	"time"

	"muster/internal/fleet"
)

// SignOn starts a session of a person whose identity a provider of single sign-on has proven. It creates a user if no
// user has the identity. The user gets the role and scope that follow from the person's present groups at the
// provider. If role or scope changes, the user's earlier sessions end. SignOn returns a conflict error if the same
// log-in attempt was used before, or if the user is disabled.
func (s *Store) SignOn(ctx context.Context, in fleet.SignOn) (fleet.User, error) {
	return write(ctx, s, "sign on", func(t *tx) (fleet.User, error) {
		if err := t.useOnce(in.Attempt, in.AttemptUntil); err != nil {
			return fleet.User{}, err
		}
		user, err := t.signedOn(in)
		if err != nil {
			return user, err
		}
		in.Session.User, in.Session.Identity = user.Name, user.Identity
		t.record("login", user.Name, "by single sign-on, from "+in.Session.Address)
		if err := t.startSession(in.Session, user.Password); err != nil {
			return user, err
		}
		return user, t.putProviderGrant(in.Session.ID, in.Grant)
	})
}

// UseOnce records that a one-time secret was used. hash is its hash. until is when the secret expires; after that the
// record may be deleted. UseOnce returns a conflict error if the secret was used before.
func (s *Store) UseOnce(ctx context.Context, hash string, until time.Time) error {
	_, err := write(ctx, s, "use a one-time secret", func(t *tx) (none struct{}, err error) {
		return none, t.useOnce(hash, until)
	})
	return err
}

// useOnce is UseOnce in a transaction. The secret is the attempt of a log-in, or a provider's message about a log-out.
func (t *tx) useOnce(hash string, until time.Time) error {
	if err := t.exec(`DELETE FROM used_sign_ons WHERE expires_at <= $1`, millis(t.now)); err != nil {
		return err
	}
	n, err := t.affect(`INSERT INTO used_sign_ons (hash, expires_at) VALUES ($1, $2) ON CONFLICT (hash) DO NOTHING`,
		hash, millis(until))
	if err == nil && n == 0 {
		err = &fleet.Error{Code: fleet.CodeConflict, Message: "this log-in was finished before",
			Hint: "Begin again with the log-in page."}
	}
	return err
}

// signedOn returns the user of an identity, after giving the user the role and scope of this log-in. It creates the
// user if necessary. The audit entries that follow name this user as the actor.
func (t *tx) signedOn(in fleet.SignOn) (fleet.User, error) {
	names, err := t.namesOf(in.Identity)
	if err != nil {
		return fleet.User{}, err
	}
	if len(names) > 0 {
		t.who = names[0]
		// A disabled user is a conflict, whatever role the groups give.
		return t.putUser(fleet.PutUser{Name: names[0], Role: &in.Role, Scope: &in.Scope})
	}
	for _, name := range in.Names {
		t.who = name
		user, err := t.createUser(fleet.User{Name: name, Role: in.Role, Scope: in.Scope, Identity: in.Identity})
		if fleet.CodeOf(err) != fleet.CodeConflict {
			return user, err
		}
	}
	return fleet.User{}, &fleet.Error{Code: fleet.CodeConflict,
		Message: "other users or tokens have every name that you could get: " + strings.Join(in.Names, ", "),
		Hint:    "An administrator deletes the one that is not used any more."}
}

// namesOf returns the name of the user with this identity, or an empty list. An identity without
// issuer or subject is an invalid error.
func (t *tx) namesOf(of fleet.Identity) ([]string, error) {
	if of.Issuer == "" || of.Subject == "" || !storable(of.Subject, fleet.MaxSubjectBytes) {
		return nil, fleet.Invalidf("subject", "the provider names nobody")
	}
	return collect(t.ctx, t.session, func(row scanner) (name string, err error) {
		return name, row.Scan(&name)
	}, `SELECT name FROM users WHERE issuer = $1 AND subject = $2`, of.Issuer, of.Subject)
}

// PutSignedOn gives the user with this identity the role and scope that follow from the person's present groups at the
// provider. If one of them changes, the user's sessions end. Without such a user it does nothing.
func (s *Store) PutSignedOn(ctx context.Context, of fleet.Identity, role fleet.Role, scope fleet.Scope) error {
	_, err := write(ctx, s, "change the role of a user", func(t *tx) (none struct{}, err error) {
		names, err := t.namesOf(of)
		for _, name := range names {
			t.who = name
			if _, err := t.putUser(fleet.PutUser{Name: name, Role: &role, Scope: &scope}); err != nil {
				return none, err
			}
		}
		return none, err
	})
	return err
}

// EndSignedOn deletes the user with this identity, and all sessions of the user, because no group of the person gives
// a role any more. A disabled user only loses the sessions: the person must still be disabled if a group gives a role
// again. Without such a user EndSignedOn does nothing.
func (s *Store) EndSignedOn(ctx context.Context, of fleet.Identity) error {
	_, err := write(ctx, s, "end the access of a user", func(t *tx) (none struct{}, err error) {
		names, err := t.namesOf(of)
		if err != nil {
			return none, err
		}
		return none, t.deleteSignedOn(names, "no group of the user gives a role any more")
	})
	return err
}

func (t *tx) deleteSignedOn(names []string, why string) error {
	for _, name := range names {
		if err := t.endAccess(name); err != nil {
			return err
		}
		user, err := t.userAsIs(name)
		if err != nil {
			return err
		}
		if user.Disabled() {
			continue
		}
		t.record("user.delete", name, why)
		if err := t.dropFromRoster(userRows, name); err != nil {
			return err
		}
		if err := t.exec(`DELETE FROM users WHERE name = $1`, name); err != nil {
			return err
		}
	}
	return nil
}

// SignOut ends the sessions that a provider reported as over, and returns them. If a stored session does not say to
// which session at the provider it belongs, every log-out of its person ends it. SignOut returns a conflict error if
// the provider has sent the same message before.
func (s *Store) SignOut(ctx context.Context, out fleet.SignedOut) ([]fleet.Session, error) {
	if !storable(out.Person.Subject, fleet.MaxSubjectBytes) {
		return nil, nil
	}
	return write(ctx, s, "end the sessions of a log-out", func(t *tx) ([]fleet.Session, error) {
		if err := t.useOnce(out.Token, out.TokenUntil); err != nil {
			return nil, err
		}
		condition, args := endedBy(out)
		ended, err := collect(t.ctx, t.session, func(row scanner) (fleet.Session, error) {
			kept, err := scanSession(row)
			return kept.Session, err
		}, selectSessions+` WHERE `+condition, args...)
		for _, session := range ended {
			t.who = session.User
			t.record("logout", session.User, "at the provider of single sign-on, the session from "+session.Address)
		}
		const ofThese = `id IN (SELECT s.id FROM sessions s JOIN users u ON u.name = s.user_name WHERE `
		return ended, errors.Join(err, t.deleteSessions(ofThese+condition+`)`, args...))
	})
}

// endedBy returns the condition for the sessions s, of users u, that a log-out ends, with its arguments.
func endedBy(out fleet.SignedOut) (condition string, args []any) {
	args = []any{out.Person.Issuer, out.Person.Subject, out.Session}
	if out.Person.Subject == "" {
		return `u.issuer = $1 AND $2 = '' AND u.subject <> '' AND s.provider_session = $3 AND s.provider_session <> ''`, args
	}
	return `u.issuer = $1 AND u.subject = $2 AND u.subject <> '' AND ($3 = '' OR s.provider_session IN ($3, ''))`, args
}

// signOnSwitch is the name of the row of the table meta that disables single sign-on, whatever the server's options
// say.
const signOnSwitch = "single_sign_on"

// SignOnDisabled reports whether single sign-on was disabled on the server's machine. It also returns true while the
// stored switch cannot be trusted, because the table meta as a whole is in doubt.
func (s *Store) SignOnDisabled(ctx context.Context) (off bool, err error) {
	err = s.reads.QueryRowContext(ctx, `SELECT COUNT(*) > 0 FROM meta WHERE name = $1`, signOnSwitch).Scan(&off)
	return off || s.doubted(metaRows), failure("read whether single sign-on is off", err)
}

const disablesSignOn = "single sign-on is off from here on, because the row that switched it off may be missing: " +
	"`muster admin single-sign-on on` ends that, on the server's machine"

// disableSignOn stores that single sign-on is off. AcceptLoss calls it and gives the row its mark.
func (t *tx) disableSignOn() error { return t.writeMeta(signOnSwitch, "off")() }

// SwitchSignOn disables single sign-on if off is true, else it enables it. Disabling also ends the sessions of all
// users of single sign-on. detail is for the audit.
func (s *Store) SwitchSignOn(ctx context.Context, off bool, detail string) error {
	_, err := write(ctx, s, "switch single sign-on", func(t *tx) (none struct{}, err error) {
		if !off {
			t.record("sign-on.enable", "", detail)
			return none, t.dropMeta(signOnSwitch)
		}
		t.record("sign-on.disable", "", detail)
		if err := t.deleteSessions(`user_name IN (SELECT name FROM users WHERE subject <> '')`); err != nil {
			return none, err
		}
		return none, t.putMeta(signOnSwitch, "off")
	})
	return err
}
