package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// AcceptLoss accepts that the entries up to entry are lost, that rows of marked tables were changed, removed or put
// back, and that the key of the marks was lost. It returns what was accepted, as sentences. It returns a conflict
// error if there is nothing to accept or entry is the wrong one (see acceptable). code is the content of
// fleet.AcceptFile; a wrong code is a forbidden error.
//
// Another program may have written the rows in doubt. So AcceptLoss first takes the power from them (see takePower):
// it deletes folder roots and author keys, for example. Then it gives the rows new marks, except rows with a sealed
// value that does not open. Some tables keep the power of their rows although the whole table is in doubt (see
// keepsPower). The result names those rows, and the fleet stays in mode observe, so that a person looks at them before
// Muster writes to a daemon.
func (s *Store) AcceptLoss(ctx context.Context, entry int64, code string) (accepted []string, err error) {
	return write(ctx, s, "accept the loss", func(t *tx) (accepted []string, err error) {
		loss := s.loss.now()
		if err := t.freezeMarked(); err != nil {
			return nil, err
		}
		doubts, err := s.doubtsIn(t.ctx, t.session, markedTables, t.pending.tallies)
		if err != nil {
			return nil, err
		}
		ends, _, err := t.auditEnds()
		if err != nil {
			return nil, err
		}
		if err := acceptable(loss, len(doubts) > 0 || s.lostKey, entry, ends.LastID); err != nil {
			return nil, err
		}
		if err := s.accept.check(code); err != nil {
			return nil, err
		}
		if loss != nil {
			accepted = append(accepted, loss.String(), "revocations of devices that these entries record are lost, too: "+
				"`muster revocation list` shows those that are left")
		}
		if s.lostKey {
			accepted = append(accepted, lostMarkKey+": Muster keeps a new one")
			if err := t.putOwnKey(markKeyPurpose, s.markKey); err != nil {
				return nil, err
			}
		}
		if text := observingAfter(doubts); text != "" {
			if err := t.stayObserving(); err != nil {
				return nil, err
			}
			accepted = append(accepted, text)
		}
		var kept []string
		for _, d := range doubts {
			accepted = append(accepted, d.tells()...)
			if d.every() && (d.table.accept != "" || d.table == rolloutRows) {
				accepted = append(accepted, fmt.Sprintf("no row of the table %s keeps its power: add, approve or save again "+
					"what shall count", d.table.name))
			}
			switch d.table {
			case revocationRows:
				lost, err := t.lostRevocations()
				if err != nil {
					return nil, err
				}
				accepted = append(accepted, lost...)
			case protectedRows:
				accepted = append(accepted, protectsUsedTags)
			case metaRows:
				if d.every() {
					accepted = append(accepted, disablesSignOn)
				}
			case settingRows:
				accepted = append(accepted, storesGuards())
			}
			if err := t.believeAgain(d, tallyOf(ends.Tables[d.table.name]).with(t.pending.tallies[d.table.name])); err != nil {
				return nil, err
			}
			if d.keepsPower() {
				names, err := t.namesIn(d.table)
				if err != nil {
					return nil, err
				}
				kept = append(kept, names...)
			}
		}
		t.record("audit.acceptLoss", fmt.Sprint(entry), strings.Join(accepted, "; "))
		t.committed(func() {
			s.loss.set(nil)
			s.lostKey = false
			s.end.follow()
			s.accept.renew(s)
			s.readAccepted(t.ctx)
		})
		return append(accepted, kept...), nil
	})
}

// readAccepted reads the contents of the database again after a loss was accepted. The earlier findings of tampering
// are dropped, except those that this reading finds again. If the reading fails, the contents in memory stay as they
// were, and the next start reads them.
func (s *Store) readAccepted(ctx context.Context) {
	changed, err := s.writer.reload(ctx, markedTables)
	var found []string
	if err == nil {
		found, err = s.checkProofs(ctx)
	}
	if err != nil {
		s.log.Warn("what was accepted counts after the next start", logkey.Err(err))
	} else {
		s.tampering.replace(found)
	}
	s.writer.tell(changed)
}

// acceptable returns a conflict error if there is nothing to accept or entry is the wrong one. If there is a loss,
// entry must be loss.To. Without a loss, entry may be any from 1 to last, the newest entry of the audit. doubts
// reports whether there is something other than a loss to accept.
func acceptable(loss *Loss, doubts bool, entry, last int64) error {
	switch {
	case loss == nil && !doubts:
		return &fleet.Error{Code: fleet.CodeConflict, Message: "nothing is lost: the database is as Muster wrote it",
			Hint: "`muster audit verify` compares it."}
	case loss != nil && entry != loss.To:
		return &fleet.Error{Code: fleet.CodeConflict, Message: "what is lost is another: " + loss.String(),
			Hint: fmt.Sprintf("Name entry %d.", loss.To)}
	case loss == nil && (entry > last || entry < 1):
		return &fleet.Error{Code: fleet.CodeConflict, Message: fmt.Sprintf("the audit has no entry %d", entry),
			Hint: "Name the last entry that `muster audit list` shows."}
	}
	return nil
}

// believeAgain gives the rows in doubt of one table new marks for their present content, after takePower has
// removed their power. A row with a sealed value that does not open gets no mark and stays in doubt. want is the tally
// of the table that the ends expect. The transaction's effects get the difference between want and the tally of the
// rows with their new marks, so that the ends then expect these rows.
func (t *tx) believeAgain(d doubt, want tally) error {
	if err := t.takePower(d); err != nil {
		return err
	}
	is, err := t.markMisfits(d.table)
	if err != nil {
		return err
	}
	delete(t.effects.tallies, d.table.name)
	t.count(d.table, is.rows-want.rows, is.sum.with(want.sum))
	return nil
}

// takePower takes the power from rows in doubt, or from every row of the table: a row that was put back as it was
// earlier fits its mark, and cannot be told from the others.
func (t *tx) takePower(d doubt) error {
	table := d.table
	switch {
	case table == rolloutRows:
		return t.pauseUnproven(d)
	case table == protectedRows:
		return t.protectUsedTags()
	case table == metaRows && d.every():
		return t.disableSignOn()
	case table.accept == "":
		return nil
	case table == settingRows:
		return errors.Join(t.runAccept(d), t.storeGuards())
	}
	return t.runAccept(d)
}

// runAccept runs the SQL accept of a table on the rows in doubt, or on every row of the table.
func (t *tx) runAccept(d doubt) error {
	table := d.table
	if d.every() {
		return t.exec(table.accept + table.where(""))
	}
	for _, row := range d.rows {
		if err := t.exec(table.accept+` WHERE `+table.byKey(), row.keyArgs()...); err != nil {
			return err
		}
	}
	return nil
}

const protectsUsedTags = "each tag that a device or template has is protected from here on: end the protection of " +
	"others with `muster tag unprotect TAG`"

// protectUsedTags protects each tag that a device or template has. Which tags were protected cannot be told any more: a
// row in doubt may have had another tag.
func (t *tx) protectUsedTags() error {
	return errors.Join(t.changeRules(), t.exec(`
		INSERT INTO protected_tags (tag)
		SELECT tag FROM (SELECT tag FROM device_tags UNION SELECT tag FROM template_tags) AS used
		WHERE tag NOT IN (SELECT tag FROM protected_tags)`))
}

// keepsPower reports whether the table is in doubt as a whole, and its rows keep the power that they give once a person
// accepts that.
func (d doubt) keepsPower() bool { return d.every() && d.table.accept == "" && d.table != rolloutRows }

// observingAfter returns why the fleet stays in mode observe once a person accepts the doubts, as text for people, or
// "" if it does not. Where a row is missing, devices would get another configuration. Settings of the server and
// rollouts are safe without that: strict values are stored, and rollouts are paused.
func observingAfter(doubts []doubt) string {
	misses := func(d doubt) bool {
		return d.every() && d.table.missing != "" && d.table != settingRows && d.table != rolloutRows
	}
	switch {
	case slices.ContainsFunc(doubts, doubt.keepsPower):
		return keepsObserving
	case slices.ContainsFunc(doubts, misses):
		return mayMissRows
	}
	return ""
}

const mayMissRows = "the fleet stays in mode observe, because rows may be missing: look at what Muster would write, " +
	"then type `muster resume`"

const keepsObserving = "the fleet stays in mode observe, because rows count again that may be older than the lost " +
	"ones: look at the rows that are named below, and at what Muster would write, then type `muster resume`"

// stayObserving sets the mode of the fleet to observe, unless it is stricter.
func (t *tx) stayObserving() error {
	var mode string
	err := t.row(`SELECT value FROM meta WHERE name = 'fleet_mode'`).Scan(&mode)
	if err != nil && !absent(err) {
		return err
	}
	if fleet.Strictest(fleet.Mode(mode), fleet.ModeObserve) != fleet.ModeObserve {
		return nil
	}
	return t.putFleetMode(fleet.ModeObserve)
}

// namesIn names the rows of a table that count again, as sentences for people: at most maxDoubtRows. A revocation only
// keeps a device away; those that are lost are named elsewhere (lostRevocations).
func (t *tx) namesIn(table *markedTable) (names []string, err error) {
	if table == revocationRows {
		return nil, nil
	}
	more := 0
	err = t.store.eachMarkedRow(t.ctx, t.session, table, "", func(row markedRow) {
		if len(names) == maxDoubtRows {
			more++
			return
		}
		names = append(names, "counts again: "+table.noun+" "+strconv.Quote(row.name())+table.values(row))
	})
	if more > 0 {
		names = append(names, fmt.Sprintf("count again: further rows of the table %s (%d)", table.name, more))
	}
	return names, err
}

// maxShownValue limits a value that namesIn shows.
const maxShownValue = 100

// values returns the content of a row as text for people, without sealed and long values.
func (m *markedTable) values(row markedRow) (text string) {
	for i, column := range m.content {
		value := row.content[i]
		if value.Valid && !isSealed(m.name, column) && len(value.String) <= maxShownValue {
			text += fmt.Sprintf(", %s %s", strings.TrimSuffix(column, "?"), value.String)
		}
	}
	return text
}
