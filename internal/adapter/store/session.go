package store

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"muster/internal/fleet"
)

const (
	sessionsPerUser   = 50 // A further session ends the one that has been unused longest.
	maxClientBytes    = 200
	maxSessionIDBytes = 64
)

const selectSessions = `
	SELECT s.id, s.user_name, u.role, u.tag_scope, s.hash, s.half, s.previous_hash, s.created_at, s.rotated_at,
		s.last_used_at,
		s.expires_at, s.address, s.client, s.provider_session, u.password, u.issuer, u.subject, s.proof
	FROM sessions s JOIN users u ON u.name = s.user_name`

// sessionRow is the row of a session, with its proof and the hash of its user's password. The sum covers this hash. So
// a session that ended with a change of password lets no one in if somebody puts its row back.
type sessionRow struct {
	fleet.Session
	password string
	proof    []byte
}

// sum returns the digest of the row for its proof. It leaves out the columns that change with every use.
func (v sessionRow) sum() string {
	return sumOf(sessionRows, v.ID, v.User, v.Hash, v.Half, v.PreviousHash, unixMilli(v.CreatedAt), unixMilli(v.RotatedAt),
		unixMilli(v.ExpiresAt), v.password, v.Identity.Issuer, v.Identity.Subject, v.ProviderSession)
}

func scanSession(row scanner) (v sessionRow, err error) {
	var created, rotated, used, expires sql.NullInt64
	var scope sql.NullString
	err = row.Scan(
		&v.ID,
		&v.User,
		(*string)(&v.Role),
		&scope,
		&v.Hash,
		&v.Half,
		&v.PreviousHash,
		&created,
		&rotated,
		&used,
		&expires,
		&v.Address,
		&v.Client,
		&v.ProviderSession,
		&v.password,
		&v.Identity.Issuer,
		&v.Identity.Subject,
		&v.proof,
	)
	v.CreatedAt, v.RotatedAt = fromMillis(created), fromMillis(rotated)
	v.LastUsedAt, v.ExpiresAt = fromMillis(used), fromMillis(expires)
	v.Scope = readTagScope(scope)
	return v, err
}

// Sessions returns the sessions of a user, or of all users if user is "", newest first. It includes sessions that have
// expired and are not deleted yet, and does not check proofs.
func (s *Store) Sessions(ctx context.Context, user string) ([]fleet.Session, error) {
	if !storable(user, fleet.MaxUserNameBytes) {
		return nil, nil
	}
	sessions, err := collect(ctx, pool{s.reads}, func(row scanner) (fleet.Session, error) {
		kept, err := scanSession(row)
		return kept.Session, err
	}, selectSessions+` WHERE $1 = '' OR s.user_name = $1 ORDER BY s.created_at DESC, s.id`, user)
	return sessions, failure("read sessions", err)
}

// SessionByHash returns the session of which the present token, or the token before the last rotation, has this hash.
// It returns a not-found error if there is no such session that Muster wrote, or if its user was deleted or disabled.
func (s *Store) SessionByHash(ctx context.Context, hash string) (fleet.Session, error) {
	if hash == "" {
		return fleet.Session{}, noSession()
	}
	sessions, in, err := readListed(ctx, s, sessionRows, func() ([]sessionRow, error) {
		return collect(ctx, pool{s.reads}, scanSession, selectSessions+` WHERE s.hash = $1 OR s.previous_hash = $1`, hash)
	})
	if err != nil {
		return fleet.Session{}, failure("read session", err)
	}
	for _, kept := range sessions {
		if !s.isLive(kept, in) {
			continue
		}
		user, err := s.User(ctx, kept.User) // The user's role comes from the roster, not from the joined row.
		if fleet.CodeOf(err) == fleet.CodeNotFound || user.Disabled() {
			break
		}
		kept.Role, kept.Scope, kept.Identity = user.Role, user.Scope, user.Identity
		return kept.Session, err
	}
	return fleet.Session{}, noSession()
}

// isLive reports whether Muster wrote the row of a session, and the session has not ended. in is the roster.
func (s *Store) isLive(v sessionRow, in roster) bool {
	return in[v.ID] == sessionSum(v.Session) && s.proven(sessionRows, v.ID, v.sum(), v.proof)
}

func noSession() error { return fleet.NotFoundf("there is no such session") }

// StartSession starts a session after a log-in. If the user was deleted or got another password since the caller
// compared the password, it returns a conflict error. A disabled user is a conflict error too.
func (s *Store) StartSession(ctx context.Context, in fleet.LogIn) error {
	_, err := write(ctx, s, "start session", func(t *tx) (none struct{}, err error) {
		user, err := t.user(in.Session.User)
		switch {
		case fleet.CodeOf(err) == fleet.CodeNotFound || err == nil && user.Password != in.Password:
			return none, &fleet.Error{Code: fleet.CodeConflict, Message: "the password was changed a moment ago",
				Hint: "Log in with the new one.", Err: err}
		case err != nil:
			return none, err
		case user.Disabled():
			return none, disabledUser(user.Name)
		}
		if in.Rehashed != "" {
			if err := t.resealSessions(user.Name, in.Rehashed); err != nil {
				return none, err
			}
			if err := t.exec(`UPDATE users SET password = $2 WHERE name = $1`, user.Name, in.Rehashed); err != nil {
				return none, err
			}
			user.Password = in.Rehashed
			if err := t.addToRoster(userRows, user.Name, userSum(user)); err != nil {
				return none, err
			}
		}
		t.record("login", user.Name, "from "+in.Session.Address)
		return none, t.startSession(in.Session, user.Password)
	})
	return err
}

// startSession adds a session. It also deletes expired sessions. If the user then has more than sessionsPerUser, it
// deletes those that have been unused longest. password is the hash of the user's password.
func (t *tx) startSession(v fleet.Session, password string) error {
	if err := t.deleteSessions(`expires_at <= $1 OR user_name = $2 AND id NOT IN
		(SELECT id FROM sessions WHERE user_name = $2 AND expires_at > $1 ORDER BY last_used_at DESC, id LIMIT $3)`,
		millis(t.now), v.User, sessionsPerUser-1); err != nil {
		return err
	}
	if err := t.exec(`UPDATE users SET last_login_at = $2 WHERE name = $1`, v.User, millis(t.now)); err != nil {
		return err
	}
	client := plainText(v.Client)
	v.PreviousHash, v.RotatedAt = "", v.CreatedAt
	if err := t.addToRoster(sessionRows, v.ID, sessionSum(v)); err != nil {
		return err
	}
	return t.exec(`INSERT INTO sessions
		(id, user_name, hash, previous_hash, created_at, rotated_at, last_used_at, expires_at, address, client,
			provider_session, proof, half)
		VALUES ($1, $2, $3, '', $4, $4, $4, $5, $6, $7, $8, $9, $10)`, v.ID, v.User, v.Hash, millis(v.CreatedAt),
		millis(v.ExpiresAt), plainText(v.Address), strings.ToValidUTF8(client[:min(len(client), maxClientBytes)], ""),
		v.ProviderSession, t.store.sealedSum(sessionRows, v.ID, sessionRow{Session: v, password: password}.sum()), v.Half)
}

// resealSessions makes new proofs for a user's sessions. It is called when the same password was hashed with other
// parameters, and keeps the sessions valid. rehashed is the new hash.
func (t *tx) resealSessions(user, rehashed string) error {
	sessions, err := collect(t.ctx, t.session, scanSession, selectSessions+` WHERE s.user_name = $1`, user)
	if err != nil {
		return err
	}
	for _, kept := range sessions {
		if !t.store.proven(sessionRows, kept.ID, kept.sum(), kept.proof) {
			continue
		}
		kept.password = rehashed
		if err := t.exec(`UPDATE sessions SET proof = $2 WHERE id = $1`, kept.ID,
			t.store.sealedSum(sessionRows, kept.ID, kept.sum())); err != nil {
			return err
		}
	}
	return nil
}

// SessionUsed stores that a session was used. at is the time of the use; an earlier time than the stored one changes
// nothing.
func (s *Store) SessionUsed(ctx context.Context, id string, at time.Time) error {
	_, err := write(ctx, s, "note the use of a session", func(t *tx) (none struct{}, err error) {
		return none, t.exec(`UPDATE sessions SET last_used_at = $2 WHERE id = $1 AND last_used_at < $2`, id, millis(at))
	})
	return err
}

// RotateSession replaces the token of a session. rotated is false if another request did so first, or if there is no
// such session that Muster wrote.
func (s *Store) RotateSession(ctx context.Context, r fleet.Rotation) (rotated bool, err error) {
	return write(ctx, s, "rotate session", func(t *tx) (bool, error) {
		in, _, err := t.roster(sessionRows)
		if err != nil {
			return false, err
		}
		kept, err := scanSession(t.row(selectSessions+` WHERE s.id = $1`, r.Session))
		if absent(err) || err == nil && !s.isLive(kept, in) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		kept.Hash, kept.PreviousHash, kept.RotatedAt = r.Next, r.Bearer, r.At
		n, err := t.affect(`UPDATE sessions SET hash = $4, previous_hash = $3, rotated_at = $5, proof = $6
			WHERE id = $1 AND hash = $2`, r.Session, r.Current, r.Bearer, r.Next, millis(r.At),
			t.store.sealedSum(sessionRows, kept.ID, kept.sum()))
		if n == 0 || err != nil {
			return false, err
		}
		return true, t.addToRoster(sessionRows, kept.ID, sessionSum(kept.Session))
	})
}

// EndSession ends a session of this user; if user is "", the session may belong to any user. It returns a not-found
// error if there is no such session.
func (s *Store) EndSession(ctx context.Context, id, user string) error {
	if !storable(id, maxSessionIDBytes) {
		return noSession()
	}
	_, err := write(ctx, s, "end session", func(t *tx) (none struct{}, err error) {
		session, err := scanSession(t.row(selectSessions+` WHERE s.id = $1`, id))
		if absent(err) || err == nil && user != "" && session.User != user {
			return none, noSession()
		}
		if err != nil {
			return none, err
		}
		t.record("logout", session.User, "the session from "+session.Address)
		return none, t.deleteSessions(`id = $1`, id)
	})
	return err
}
