package store

import (
	"context"
	"crypto/hmac"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// EndFile is the name of the file in the home that remembers the newest entry of the audit. A database that does not
// have that entry is older than its home.
const EndFile = "audit-end"

const endSyncEvery = time.Second

// endFile writes after each commit how the audit ends. The commit is on disk by then, so the file is never newer than
// the database. A commit syncs the file where the last sync is a second old, and close does. A machine that crashes
// may so leave a file that lacks the commits since the last sync: it finds all losses before them.
type endFile struct {
	mu     sync.Mutex // guards the rest
	file   *os.File   // nil where nothing is remembered
	path   string
	synced time.Time
	kept   bool // The file keeps what it has, because a loss is not accepted yet.
}

// text gives the content of the file. Its length is always the same, so it is written in one place.
func (s *Store) endText(ends fleet.AuditEnds) string {
	text := fmt.Sprintf("muster audit end 1 %020d %64s", ends.LastID, ends.LastHash)
	return text + " " + hex.EncodeToString(s.keyed(text)) + "\n"
}

// read gives what the file says. known is false where there is no file, or where Muster did not write it so. Without
// the key of the marks that cannot be told, and the file counts: who took the key must not gain by it.
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

// keep writes how the audit ends now.
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

// lostHash is in the file in the place of a hash while a loss is not accepted. No entry has it, so each start finds
// the loss again, whatever is in the database.
const lostHash = "lost"

// hold writes to the disk that the entries up to this one are lost. The file keeps that until follow.
func (e *endFile) hold(s *Store, last int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.kept = true
	if e.file == nil {
		return
	}
	_, err := e.file.WriteAt([]byte(s.endText(fleet.AuditEnds{LastID: last, LastHash: lostHash})), 0)
	if err = errors.Join(err, e.file.Sync()); err != nil {
		s.log.Error("the loss is not kept in the home folder", logkey.Err(err))
	}
}

// follow has the file follow the audit again.
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

// Loss says that the database is older than what the home directory or this process knows. The entries of the audit
// with the IDs From to To are missing or different, and so are the changes that they record.
type Loss struct{ From, To int64 }

func (l Loss) String() string {
	if l.From >= l.To {
		return fmt.Sprintf("entry %d of the audit is lost or another", l.To)
	}
	return fmt.Sprintf("entries %d to %d of the audit are lost or others", l.From, l.To)
}

// losses is the loss that nobody has accepted yet.
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

// checkEnd compares the database with what the home remembers of it, and begins to remember. Without a file it says in
// the audit that a new one begins, unless a restore makes the home.
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

// findLoss looks for the entry that the home remembers. Where it is not there, or another, everything since the last
// common entry is lost. The sealed ends must have it too: entries in the table prove nothing.
func (w *writer) findLoss(ctx context.Context, remembered, ends fleet.AuditEnds, opened bool) error {
	if remembered.LastID == 0 || opened && remembered.LastID < ends.FirstID {
		return nil // There was none, or the audit was cut since.
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
	w.store.lose(Loss{From: from, To: remembered.LastID})
	if !older {
		return nil // An earlier start has recorded it.
	}
	return w.alone(ctx, func(t *tx) error { return t.recordLoss(remembered, ends, opened) })
}

// recordLoss has the next entry follow the lost ones, so that no number is given twice. Tables whose rows had no marks
// yet begin without rows that are believed.
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

// lose has nothing written to daemons until an admin accepts the loss.
func (s *Store) lose(loss Loss) {
	s.end.hold(s, loss.To)
	s.loss.set(&loss)
	s.log.Error("the database is older than it was: nothing is written to daemons", "lost", loss.String(),
		logkey.Next, fmt.Sprintf("type `muster audit accept-loss %d` once you know why", loss.To))
}

// loseWhileRunning is lose for ends that were put back while this process runs. The home has it before the commit: the
// entries of this transaction follow the known ends, so the next start would not see that older ones were there.
func (t *tx) loseWhileRunning(known, ends fleet.AuditEnds) {
	if t.store.loss.now() == nil {
		t.store.end.hold(t.store, known.LastID)
	}
	t.committed(func() {
		if t.store.loss.now() != nil {
			return
		}
		t.store.lose(Loss{From: min(ends.LastID+1, known.LastID), To: known.LastID})
		t.store.model.apply([]func(*contents){func(c *contents) { c.observed = true }})
		go t.store.writer.tell(fleet.Committed{Registry: true, Modes: true})
	})
}

// Loss gives the loss that nobody has accepted yet, nil without one.
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

// onlyObserved is an error while the fleet is only observed because of what is lost or in doubt.
func (s *Store) onlyObserved() (err error) {
	s.model.look(func(c *contents) {
		if found := s.Tampering(); c.observed && found != nil {
			err = &fleet.Error{Code: fleet.CodeConflict, Message: found.Reason, Hint: found.Next}
		}
	})
	return err
}

// AcceptLoss accepts that the entries up to this one are lost, and that rows were removed or put back. Rows that do
// not fit their marks get new ones: it is not known who saved them, and roots and keys among them are deleted. code is
// the content of fleet.AcceptFile.
func (s *Store) AcceptLoss(ctx context.Context, entry int64, code string) (accepted []string, err error) {
	if err := s.accept.check(code); err != nil {
		return nil, err
	}
	return write(ctx, s, "accept the loss", func(t *tx) (accepted []string, err error) {
		loss := s.loss.now()
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
		if loss != nil {
			accepted = append(accepted, loss.String())
		}
		if s.lostKey {
			accepted = append(accepted, lostMarkKey+": Muster keeps a new one")
			if err := t.putOwnKey(markKeyPurpose, s.markKey); err != nil {
				return nil, err
			}
		}
		for _, d := range doubts {
			accepted = append(accepted, d.tells()...)
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

// readAccepted reads the contents again. What was found before counts no more, unless it is found again.
func (s *Store) readAccepted(ctx context.Context) {
	changed, err := s.writer.reload(ctx)
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

// acceptable is an error where there is nothing to accept, or where the entry does not name what is.
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

// believeAgain gives marks to the rows of a table as they are now. A row with a sealed value that does not open gets
// none, and stays in doubt.
func (t *tx) believeAgain(d doubt, want tally) error {
	table := d.table
	for _, row := range d.rows {
		key := row.keyArgs()
		if table.accept != "" {
			if err := t.exec(table.accept+` WHERE `+table.byKey(), key...); err != nil {
				return err
			}
		}
		if err := t.mark(table, key...); err != nil && !errors.Is(err, errNotOpened) {
			return err
		}
	}
	rows, err := t.store.markedRows(t.ctx, t.session, table, "")
	if err != nil {
		return err
	}
	is := t.store.tallyIn(rows)
	delete(t.effects.tallies, table.name)
	t.count(table, is.rows-want.rows, is.sum.with(want.sum))
	return nil
}
