package store

import (
	"context"
	"database/sql"
	"time"

	"muster/internal/fleet"
)

// keptLink is a stored log-in link with its proof.
type keptLink struct {
	fleet.LoginLink
	proof []byte
}

func linkSum(v fleet.LoginLink) string {
	return sumOf(linkRows, v.Hash, v.User, unixMilli(v.ExpiresAt))
}

func scanLink(row scanner) (v keptLink, err error) {
	var expires sql.NullInt64
	err = row.Scan(&v.Hash, &v.User, &expires, &v.proof)
	v.ExpiresAt = fromMillis(expires)
	return v, err
}

// usable reports whether Muster wrote a log-in link, and the link has neither expired nor ended. in is the roster.
func (s *Store) usable(v keptLink, in roster, now time.Time) bool {
	sum := linkSum(v.LoginLink)
	return now.Before(v.ExpiresAt) && in[v.Hash] == sum && s.proven(linkRows, v.Hash, sum, v.proof)
}

// CreateLoginLink stores a log-in link. There is at most one link per user, and at most one without a user, with which
// a new administrator is created. A new link replaces the old one of its user, or the old one without a user. The link
// of an administrator lives for fleet.LinkLife at most.
func (s *Store) CreateLoginLink(ctx context.Context, link fleet.LoginLink) error {
	if !storable(link.User, fleet.MaxUserNameBytes) {
		return noUser(link.User)
	}
	_, err := write(ctx, s, "create log-in link", func(t *tx) (none struct{}, err error) {
		gives := fleet.RoleAdmin
		if link.User != "" {
			user, err := t.ownUser(link.User)
			if err != nil {
				return none, err
			}
			if user.Disabled() {
				return none, disabledUser(user.Name)
			}
			gives = user.Role
			if err := t.accessGiven(user); err != nil {
				return none, err
			}
		}
		if gives == fleet.RoleAdmin && link.ExpiresAt.After(t.now.Add(fleet.LinkLife)) {
			return none, fleet.Invalidf("expiresInS", "the log-in link of an administrator expires after 15 minutes: leave "+
				"the time out")
		}
		if err := t.deleteLinks(`user_name = $1 OR expires_at <= $2`, link.User, millis(t.now)); err != nil {
			return none, err
		}
		if err := t.addToRoster(linkRows, link.Hash, linkSum(link)); err != nil {
			return none, err
		}
		t.record("login-link.create", link.User, "until "+link.ExpiresAt.UTC().Format(time.RFC3339))
		return none, t.exec(`INSERT INTO login_links (hash, user_name, made_by, created_at, expires_at, proof)
			VALUES ($1, $2, $3, $4, $5, $6)`, link.Hash, link.User, t.who, millis(t.now), millis(link.ExpiresAt),
			t.store.sealedSum(linkRows, link.Hash, linkSum(link)))
	})
	return err
}

// accessGiven notes that somebody is given a way to log in as a user.
func (t *tx) accessGiven(user fleet.User) error {
	user.AccessGivenAt = t.now
	if err := t.exec(`UPDATE users SET access_given_at = $2 WHERE name = $1`, user.Name, millis(t.now)); err != nil {
		return err
	}
	return t.addToRoster(userRows, user.Name, userSum(user))
}

const (
	selectAllLinks = `SELECT hash, user_name, expires_at, proof FROM login_links`
	selectLinks    = selectAllLinks + ` WHERE hash = $1`
)

// LoginLink returns the log-in link whose secret text has this hash. It returns a not-found error if the link was used
// or replaced, has expired or was not written by Muster.
func (s *Store) LoginLink(ctx context.Context, hash string) (fleet.LoginLink, error) {
	links, in, err := readListed(ctx, s, linkRows, func() ([]keptLink, error) {
		return collect(ctx, pool{s.reads}, scanLink, selectLinks, hash)
	})
	switch {
	case err != nil:
		return fleet.LoginLink{}, failure("read log-in link", err)
	case len(links) == 0 || !s.usable(links[0], in, s.clock()):
		return fleet.LoginLink{}, noLink()
	}
	return links[0].LoginLink, nil
}

func noLink() error {
	return &fleet.Error{
		Code:    fleet.CodeNotFound,
		Message: "this log-in link was used before, was replaced by a newer one, or has expired",
		Hint: "An administrator makes a new one with `muster login-link NAME`; on the server's machine `muster login-link` prints " +
			"one that makes an administrator.",
	}
}

// UseLoginLink uses up a log-in link: it creates the new administrator or sets the user's password, and starts a
// session. It returns the not-found error of LoginLink. After an error the link can still be used, if it was usable
// before.
func (s *Store) UseLoginLink(ctx context.Context, use fleet.UseLink) error {
	_, err := write(ctx, s, "use log-in link", func(t *tx) (none struct{}, err error) {
		in, _, err := t.roster(linkRows)
		if err != nil {
			return none, err
		}
		link, err := scanLink(t.row(selectLinks, use.Hash))
		if absent(err) || err == nil && !s.usable(link, in, t.now) {
			return none, noLink()
		}
		if err != nil {
			return none, err
		}
		if err := t.deleteLinks(`hash = $1`, use.Hash); err != nil {
			return none, err
		}
		if link.User == "" {
			_, err = t.createUser(fleet.User{Name: use.User, Role: fleet.RoleAdmin, Password: use.Password})
		} else {
			_, err = t.putUser(fleet.PutUser{Name: link.User, Password: &use.Password})
		}
		if err != nil {
			return none, err
		}
		t.record("login", use.User, "by a log-in link, from "+use.Session.Address)
		return none, t.startSession(use.Session, use.Password)
	})
	return err
}
