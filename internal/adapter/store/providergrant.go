package store

import (
	"context"

	"muster/internal/fleet"
)

// ProviderGrant returns the grant of a session: the secret with which Muster can ask the provider of single sign-on
// about the person again. It returns a blank secret if the session has no grant, or none that Muster wrote.
func (s *Store) ProviderGrant(ctx context.Context, session string) (fleet.Secret, error) {
	found, err := collect(ctx, pool{s.reads}, func(row scanner) (sealed []byte, err error) {
		return sealed, row.Scan(&sealed)
	}, `SELECT provider_grant FROM sessions WHERE id = $1 AND provider_grant IS NOT NULL`, session)
	if err != nil || len(found) == 0 {
		return fleet.Secret{}, failure("read what a session keeps of its provider", err)
	}
	plain, err := s.seal.Open("sessions", session, "provider_grant", found[0])
	if err != nil { // Another program wrote the grant, so it counts as missing.
		return fleet.Secret{}, nil //nolint:nilerr // see the line above
	}
	return fleet.NewSecret(string(plain)), nil
}

// PutProviderGrant stores the newest grant of a session. It does nothing if the session has ended or the grant is
// blank.
func (s *Store) PutProviderGrant(ctx context.Context, session string, grant fleet.Secret) error {
	_, err := write(ctx, s, "keep what a provider gave", func(t *tx) (none struct{}, err error) {
		return none, t.putProviderGrant(session, grant)
	})
	return err
}

func (t *tx) putProviderGrant(session string, grant fleet.Secret) error {
	if grant.IsZero() {
		return nil
	}
	return t.exec(`UPDATE sessions SET provider_grant = $2 WHERE id = $1`, session,
		t.store.seal.Seal("sessions", session, "provider_grant", []byte(grant.Reveal())))
}
