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

// deleteSessions deletes sessions: those for which condition is true. They leave the roster, too.
func (t *tx) deleteSessions(condition string, args ...any) error {
	return t.deleteListed(sessionRows, `id`, condition, args)
}

// deleteLinks is deleteSessions for log-in links.
func (t *tx) deleteLinks(condition string, args ...any) error {
	return t.deleteListed(linkRows, `hash`, condition, args)
}

// deleteListed deletes rows of a table, and removes from its roster the rows that are gone. name is the column with the
// name of a row.
func (t *tx) deleteListed(table, name, condition string, args []any) error {
	n, err := t.affect(`DELETE FROM `+table+` WHERE `+condition, args...)
	if n == 0 || err != nil {
		return err
	}
	return t.dropGone(table, `SELECT `+name+` FROM `+table)
}

// endEverySession ends all sessions and deletes all log-in links, whether their rows are there or not: both rosters
// become empty. A session or link that ended after an older database was copied is there again once that database is
// put back. The caller stores ends, which get the sums of the empty rosters.
func (t *tx) endEverySession(ends *fleet.AuditEnds) error {
	ends.Rosters = maps.Clone(ends.Rosters)
	if ends.Rosters == nil {
		ends.Rosters = map[string]string{}
	}
	for _, table := range []string{sessionRows, linkRows} {
		ends.Rosters[table] = roster{}.sum()
		if err := errors.Join(t.exec(`DELETE FROM `+table), t.putProof(table, roster{})); err != nil {
			return err
		}
	}
	return nil
}
