package store

import (
	"context"
	"crypto/hmac"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// EndFile is the name of the end file in the home folder, which names the newest entry of the audit. A database
// without that entry is older than its home folder: somebody put back a copy.
const EndFile = "audit-end"

const endSyncEvery = time.Second // shortest time between two syncs of the file to disk

// endFile records the newest entry of the audit in the home folder after each commit. The commit is on disk by then,
// so the file is never ahead of the database. Commits sync the file to disk at most once per endSyncEvery, and close
// syncs it once more. After a crash of the machine, the file may therefore name an entry that was the newest at the
// last sync. If the database then lacks only later entries, nobody notices; every older loss is found.
type endFile struct {
	mu     sync.Mutex // guards the rest
	file   *os.File   // nil when the store keeps no such file
	path   string
	synced time.Time
	kept   bool // The file stays as it is, because it names a loss that is not accepted yet.
}

// endText returns the content of the end file: the last entry of ends, and a keyed hash. The content always has the
// same length, so that a write in place replaces the earlier content completely.
func (s *Store) endText(ends fleet.AuditEnds) string {
	text := fmt.Sprintf("muster audit end 1 %020d %64s", ends.LastID, ends.LastHash)
	return text + " " + hex.EncodeToString(s.keyed(text)) + "\n"
}

// read returns, in ends.LastID and ends.LastHash, the entry that the file names as the newest. known is false if there
// is no file, or if its keyed hash shows that Muster did not write it. While the key of the marks is lost (see
// loadMarkKey), nobody can check the hash, and the file is believed: otherwise somebody could hide a loss by removing
// the key.
func (e *endFile) read(s *Store) (ends fleet.AuditEnds, known bool, err error) {
	content, err := os.ReadFile(e.path)
	if errors.Is(err, fs.ErrNotExist) {
		return ends, false, nil
	}
	if err != nil {
		return ends, false, err
	}
	if n, _ := fmt.Sscanf(string(content), "muster audit end 1 %d %s", &ends.LastID, &ends.LastHash); n < 1 {
		return ends, false, nil
	}
	if ends.LastID == 0 {
		ends.LastHash = ""
	}
	return ends, s.lostKey || hmac.Equal(content, []byte(s.endText(ends))), nil
}

// keep stores ends.LastID and its hash in the file, as the newest entry. Between hold and follow it does nothing.
func (e *endFile) keep(s *Store, ends fleet.AuditEnds) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.file == nil || e.kept {
		return
	}
	_, err := e.file.WriteAt([]byte(s.endText(ends)), 0)
	if now := time.Now(); err == nil && now.Sub(e.synced) >= endSyncEvery {
		e.synced, err = now, e.file.Sync()
	}
	if err != nil {
		s.log.Warn("how the audit ends is not kept in the home folder", logkey.Err(err))
	}
}

// lostHash is written to the file in place of the entry's hash while a loss is not accepted, followed by the first lost
// entry. No entry has this hash. So each start finds the loss again, even if the database has got an entry with the
// right ID since.
const lostHash = "lost-"

// firstLost returns the first lost entry that the file names, if it names one before from. Otherwise it returns from.
func firstLost(remembered fleet.AuditEnds, from int64) int64 {
	text, lost := strings.CutPrefix(remembered.LastHash, lostHash)
	if first, err := strconv.ParseInt(text, 10, 64); lost && err == nil {
		return min(first, from)
	}
	return from
}

// hold writes a loss to the file and syncs the file to disk. The file is not written again before follow is called. An
// error is only logged.
func (e *endFile) hold(s *Store, loss Loss) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.kept = true
	if e.file == nil {
		return
	}
	ends := fleet.AuditEnds{LastID: loss.To, LastHash: lostHash + strconv.FormatInt(loss.From, 10)}
	_, err := e.file.WriteAt([]byte(s.endText(ends)), 0)
	if err = errors.Join(err, e.file.Sync()); err != nil {
		s.log.Error("the loss is not kept in the home folder", logkey.Err(err))
	}
}

// follow ends what hold began: each later call of keep changes the file again.
func (e *endFile) follow() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.kept = false
}

func (e *endFile) close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.file == nil {
		return nil
	}
	err := errors.Join(e.file.Sync(), e.file.Close())
	e.file = nil
	return err
}

// Loss is a range of audit entries, From and To included. The end file or this process knew these entries, and the
// database lacks them or has other ones in their place. So the database was put back to an earlier state, and the
// changes that these entries record are undone as well.
type Loss struct{ From, To int64 }

func (l Loss) String() string {
	if l.From >= l.To {
		return fmt.Sprintf("entry %d of the audit is lost or another", l.To)
	}
	return fmt.Sprintf("entries %d to %d of the audit are lost or others", l.From, l.To)
}

// losses holds the loss that nobody has accepted yet. loss is nil if nothing is lost.
type losses struct {
	mu   sync.Mutex // guards loss
	loss *Loss
}

func (l *losses) now() *Loss {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.loss
}

func (l *losses) set(loss *Loss) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.loss = loss
}

// checkEnd compares the audit with the entry that the end file names (see findLoss), and opens the file for writing.
// If the file is missing or Muster did not write it, and the audit has entries, checkEnd records in the audit that the
// file begins here. If restoring is true, it does not record that, because a restore makes a new home folder. If the
// store keeps no end file, checkEnd does nothing.
func (w *writer) checkEnd(ctx context.Context, restoring bool) error {
	s := w.store
	if s.end.path == "" {
		return nil
	}
	remembered, known, err := s.end.read(s)
	if err != nil {
		return err
	}
	ends, opened, err := s.openEnds(ctx, w.session)
	if err != nil {
		return err
	}
	if s.end.file, err = os.OpenFile(s.end.path, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return err
	}
	switch {
	case known:
		if err := w.findLoss(ctx, remembered, ends, opened); err != nil {
			return err
		}
	case ends.LastID > 0 && !restoring:
		s.log.Warn("the home folder does not know which entry of the audit is the newest: from here on it does",
			"entry", ends.LastID)
		err := w.alone(ctx, func(t *tx) error {
			t.record("audit.end", EndFile, fmt.Sprintf("the home folder had no record of the newest entry; it begins after "+
				"entry %d", ends.LastID))
			return nil
		})
		if err != nil {
			return err
		}
	}
	if ends, _, err = s.openEnds(ctx, w.session); err == nil {
		s.end.keep(s, ends)
	}
	return err
}

// findLoss puts a loss in force if the audit table lacks the entry that the home folder remembers or has it with
// another hash, or if the sealed ends do not open, end before that entry, or have another hash for it. The table alone
// proves nothing, because anybody who can write to the database can add rows to it. opened says whether the ends could
// be opened.
//
// The loss ends with the remembered entry. It begins after the last entry of the ends if they opened and end earlier;
// else it is that one entry. Nothing is lost if the home folder remembers no entry, or if the audit was cut beyond it.
func (w *writer) findLoss(ctx context.Context, remembered, ends fleet.AuditEnds, opened bool) error {
	if remembered.LastID == 0 || opened && remembered.LastID < ends.FirstID {
		return nil // The file names no entry, or the audit has been cut beyond it since.
	}
	older := !opened || putBack(remembered, ends)
	entries, err := collect(ctx, w.session, scanAudit, selectAudit+` WHERE id = $1`, remembered.LastID)
	if err != nil || !older && len(entries) == 1 && entries[0].Hash == remembered.LastHash {
		return err
	}
	from := remembered.LastID
	if opened && ends.LastID < remembered.LastID {
		from = ends.LastID + 1
	}
	w.store.lose(Loss{From: firstLost(remembered, from), To: remembered.LastID})
	if !older {
		return nil // An earlier start has recorded it.
	}
	return w.alone(ctx, func(t *tx) error { return t.recordLoss(remembered, ends, opened) })
}

// recordLoss records the loss in the audit. The new entry follows the last lost one, so that no number is used twice.
// A marked table that the ends do not list yet is listed as empty, so none of its rows is believed. The parameters are
// those of findLoss.
func (t *tx) recordLoss(remembered, ends fleet.AuditEnds, opened bool) (err error) {
	if !opened {
		if ends, err = t.endsOfTable(); err != nil {
			return err
		}
	}
	beginTables(&ends)
	ends.LastID, ends.LastHash = remembered.LastID, remembered.LastHash
	t.store.known.know(ends)
	t.record("audit.loss", "", t.store.loss.now().String())
	return nil
}

// lose puts a loss in force: from then on nothing is written to daemons, until an admin accepts the loss.
func (s *Store) lose(loss Loss) {
	s.end.hold(s, loss)
	s.loss.set(&loss)
	s.log.Error("the database is older than it was: nothing is written to daemons", "lost", loss.String(),
		logkey.Next, fmt.Sprintf("type `muster audit accept-loss %d` once you know why", loss.To))
}

// loseWhileRunning is lose for older ends that somebody put back while this process runs. The loss comes into force
// after the commit, but the end file names it before. Otherwise, after a crash in between, the next start would find
// nothing wrong in the database: the entries of this transaction follow the known ends. ends are those that were put
// back.
func (t *tx) loseWhileRunning(known, ends fleet.AuditEnds) {
	loss := Loss{From: min(ends.LastID+1, known.LastID), To: known.LastID}
	if t.store.loss.now() == nil {
		t.store.end.hold(t.store, loss)
	}
	t.committed(func() {
		if t.store.loss.now() != nil {
			return
		}
		t.store.lose(loss)
		t.store.model.apply([]func(*contents){func(c *contents) { c.observed = true }})
		go t.store.writer.tell(fleet.Committed{Registry: true, Modes: true})
	})
}

// Loss returns, as an impairment, the loss that nobody has accepted yet. It returns nil without such a loss.
func (s *Store) Loss() *fleet.Impairment {
	loss := s.loss.now()
	if loss == nil {
		return nil
	}
	return &fleet.Impairment{
		Part: fleet.PartProofs,
		Reason: "the database is older than it was when this server, or its " +
			"home folder, knew it last: " + loss.String() + ". Nothing is written to daemons",
		Next: fmt.Sprintf("Find out who put it back, look at `muster token list` and `muster user list`, then type `muster "+
			"audit accept-loss %d` on the server's machine.", loss.To),
	}
}

// onlyObserved returns a conflict error while the fleet is kept in mode observe because of a loss or of rows in doubt.
// Otherwise it returns nil.
func (s *Store) onlyObserved() (err error) {
	s.model.look(func(c *contents) {
		if found := s.Tampering(); c.observed && found != nil {
			err = &fleet.Error{Code: fleet.CodeConflict, Message: found.Reason, Hint: found.Next}
		}
	})
	return err
}

// AcceptLoss accepts that the entries up to entry are lost, that rows of marked tables were changed, removed or put
// back, and that the key of the marks was lost. It returns what was accepted, as sentences. It returns a conflict
// error if there is nothing to accept or entry is the wrong one (see acceptable). code is the content of
// fleet.AcceptFile; a wrong code is a forbidden error.
//
// Nobody knows who wrote the rows in doubt. So they first lose the power that they give (see takePower): folder roots
// and author keys, for example, are deleted. Then the rows get new marks, except those with a sealed value that does
// not open.
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
		for _, d := range doubts {
			accepted = append(accepted, d.tells()...)
			if d.every() && (d.table.accept != "" || d.table == rolloutRows) {
				accepted = append(accepted, fmt.Sprintf("no row of the table %s keeps its power: add, approve or save again "+
					"what shall count", d.table.name))
			}
			if d.table == revocationRows {
				lost, err := t.lostRevocations()
				if err != nil {
					return nil, err
				}
				accepted = append(accepted, lost...)
			}
			if err := t.believeAgain(d, tallyOf(ends.Tables[d.table.name]).with(t.pending.tallies[d.table.name])); err != nil {
				return nil, err
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
		return accepted, nil
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
	case table.accept == "":
		return nil
	case d.every():
		return t.exec(table.accept + table.where(""))
	}
	for _, row := range d.rows {
		if err := t.exec(table.accept+` WHERE `+table.byKey(), row.keyArgs()...); err != nil {
			return err
		}
	}
	return nil
}
