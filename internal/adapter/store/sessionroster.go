package store

import (
	"errors"
	"maps"

	"muster/internal/fleet"
)

// Sessions and log-in links have rosters, too. Their proofs alone show that Muster wrote a row, and not that the row
// has ended since: a row that somebody puts back after its end has a valid proof, and is in no roster.

// sessionSum returns what the roster lists for a session. It changes with each rotation of the token.
func sessionSum(v fleet.Session) string {
	return sumOf("listed session", v.ID, v.User, v.Hash, v.PreviousHash, unixMilli(v.CreatedAt), unixMilli(v.RotatedAt))
}

// dropEndedSessions removes the sessions that have no row any more from their roster. Each write that deletes sessions
// calls it.
func (t *tx) dropEndedSessions() error { return t.dropGone(sessionRows, `SELECT id FROM sessions`) }

// dropEndedLinks is dropEndedSessions for log-in links.
func (t *tx) dropEndedLinks() error { return t.dropGone(linkRows, `SELECT hash FROM login_links`) }

// dropGone removes the names that the query does not return from the roster of a table.
func (t *tx) dropGone(table, query string) error {
	left := map[string]bool{}
	_, err := collect(t.ctx, t.session, func(row scanner) (none struct{}, err error) {
		var name string
		err = row.Scan(&name)
		left[name] = true
		return none, err
	}, query)
	if err != nil {
		return err
	}
	return t.changeRoster(table, func(r roster) {
		maps.DeleteFunc(r, func(name, _ string) bool { return !left[name] })
	})
}

// deleteSessions deletes sessions: those for which condition is true.
func (t *tx) deleteSessions(condition string, args ...any) error {
	return errors.Join(t.exec(`DELETE FROM sessions WHERE `+condition, args...), t.dropEndedSessions())
}

// deleteLinks is deleteSessions for log-in links.
func (t *tx) deleteLinks(condition string, args ...any) error {
	return errors.Join(t.exec(`DELETE FROM login_links WHERE `+condition, args...), t.dropEndedLinks())
}
