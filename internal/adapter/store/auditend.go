package store

import (
	"context"
	"crypto/hmac"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math"
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
	mu   sync.Mutex // guards the rest
	file *os.File   // nil when the store keeps no such file
	sums *os.File   // see SumsFile; nil with file
	path string
	last int64     // ID of the entry that both files name as the newest
	at   time.Time // last sync of the files to disk
	kept bool      // The file stays as it is, because it names a loss that is not accepted yet.
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

// keep stores the ends in the file of sums, and ends.LastID and its hash in the end file, as the newest entry. Between
// hold and follow the end file stays as it is.
func (e *endFile) keep(s *Store, ends fleet.AuditEnds) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.file == nil {
		return
	}
	// The sums are first, because sums that are older than the end file do not count.
	err := e.keepSums(s, ends)
	if err == nil && !e.kept {
		if _, err = e.file.WriteAt([]byte(s.endText(ends)), 0); err == nil {
			e.last = ends.LastID
		}
	}
	if now := time.Now(); err == nil && now.Sub(e.at) >= endSyncEvery {
		e.at, err = now, errors.Join(e.sums.Sync(), e.file.Sync())
	}
	if err != nil {
		s.log.Warn("how the audit ends is not kept in the home folder", logkey.Err(err))
	}
}

// synced syncs both files to disk, and returns the entry that they name as the newest. It returns math.MaxInt64 if the
// store keeps no such files.
func (e *endFile) synced() (last int64, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.path == "":
		return math.MaxInt64, nil
	case e.file == nil:
		return 0, nil // The store is closed.
	}
	return e.last, errors.Join(e.sums.Sync(), e.file.Sync())
}

// lostHash is written to the file in place of the entry's hash while a loss is not accepted, followed by the first lost
// entry. No entry has this hash. So each start finds the loss again, even if the database has got an entry with the
// right ID since.
const lostHash = "lost-"

// openLoss returns the loss that the end file names, if it names one.
func openLoss(remembered fleet.AuditEnds) (loss Loss, open bool) {
	text, lost := strings.CutPrefix(remembered.LastHash, lostHash)
	first, err := strconv.ParseInt(text, 10, 64)
	return Loss{From: first, To: remembered.LastID}, lost && err == nil
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
	err := errors.Join(e.sums.Sync(), e.sums.Close(), e.file.Sync(), e.file.Close())
	e.file, e.sums = nil, nil
	return err
}

// Loss is a range of audit entries, From and To included. The end file or this process knew these entries, and the
// database lacks them or has other ones in their place. If From comes after To, only later changes that have no entry
// are lost. So the database was put back to an earlier state, and the changes that these entries record are undone as
// well.
type Loss struct{ From, To int64 }

func (l Loss) String() string {
	switch {
	case l.From > l.To:
		return fmt.Sprintf("changes after entry %d of the audit are lost", l.To)
	case l.From == l.To:
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
	sums, err := s.end.open(s)
	if err != nil {
		return err
	}
	switch {
	case known:
		if err := w.findLoss(ctx, homeEnds{remembered, notBefore(sums, remembered)}, ends, opened); err != nil {
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
		s.known.know(ends) // What follows a commit does not happen at a start: the known ends may be those of the home.
		s.end.keep(s, ends)
	}
	return err
}

// findLoss puts a loss in force in three cases. The end file names one that nobody has accepted. The sealed ends do not
// open, or are older than those that the home folder remembers; isOlder tells ends with the same last entry apart. Or
// the audit table lacks the entry that the home folder remembers, or has it with another hash: so does a copy that went
// on elsewhere, however long its audit is. The table alone proves nothing, because anybody who can write to the
// database can add rows to it. opened says whether the ends could be opened.
//
// An entry that was cut because of its age is lost like any other: Muster cuts no entry before the home folder
// remembers a later one (see CutAudit), so another server did.
//
// The loss ends with the remembered entry. It begins after the last entry of the ends if they opened and are older;
// else it is that one entry. Nothing is lost if the home folder remembers no entry.
func (w *writer) findLoss(ctx context.Context, home homeEnds, ends fleet.AuditEnds, opened bool) error {
	newest := home.newest()
	if newest.LastID == 0 {
		return nil
	}
	endBefore := opened && (ends.LastID < newest.LastID || isOlder(ends, newest))
	isLost := !opened || endBefore
	if !isLost {
		var err error
		if isLost, err = lacksLast(ctx, w.session, newest); err != nil {
			return err
		}
	}
	found, open := openLoss(home.remembered)
	if !isLost {
		if open {
			w.store.lose(found) // An earlier start has recorded it.
		}
		return nil
	}
	loss := Loss{From: newest.LastID, To: newest.LastID}
	if endBefore {
		loss.From = ends.LastID + 1
	}
	if open {
		loss.From = min(loss.From, found.From)
	}
	w.store.lose(loss)
	return w.alone(ctx, func(t *tx) error { return t.recordLoss(home, ends, opened) })
}

// recordLoss records the loss in the audit, and ends the access that came back with the other database (see
// endEverySession). The new entry follows the last lost one, and the last one in the table, so that no number is used
// twice. From then on the ends have the sums that the home folder remembers: the rows of a roster or table that differ
// from them are not believed. If the home folder does not remember them, no row is believed. The parameters are those
// of findLoss.
func (t *tx) recordLoss(home homeEnds, stored fleet.AuditEnds, opened bool) (err error) {
	newest, ends := home.newest(), stored
	switch {
	case home.sums != nil:
		ends = *home.sums
	case !opened:
		if ends, err = t.endsOfTable(); err != nil {
			return err
		}
		fallthrough
	default:
		t.store.forgetSums(&ends)
	}
	beginTables(&ends)
	ends.LastID, ends.LastHash = newest.LastID, newest.LastHash
	if err := t.endEverySession(&ends); err != nil {
		return err
	}
	t.store.known.replace(beginningAs(ends, stored))
	t.record("audit.loss", "", t.store.loss.now().String())
	return nil
}

// lose puts a loss in force: from then on nothing is written to daemons, until an admin accepts the loss.
func (s *Store) lose(loss Loss) {
	s.end.hold(s, loss)
	s.loss.set(&loss)
	s.log.Error(
		"the database is older than it was, or went on elsewhere: nothing is written to daemons",
		"lost",
		loss.String(),
		logkey.Next,
		fmt.Sprintf("type `muster audit accept-loss %d` once you know why; if all tokens are refused, stop the "+
			"server and type `muster admin reset` first", loss.To),
	)
}

// loseWhileRunning is lose for older ends that somebody put back while this process runs. The loss comes into force
// after the commit, but the end file names it before. Otherwise, after a crash in between, the next start would find
// nothing wrong in the database: the entries of this transaction follow the known ends. ends are those that were put
// back.
func (t *tx) loseWhileRunning(known, ends fleet.AuditEnds) {
	loss := Loss{From: min(ends.LastID+1, known.LastID), To: known.LastID}
	if isOlder(ends, known) {
		loss.From = known.LastID + 1
	}
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
		Reason: "the database is older than it was when this server, or its home folder, knew it last, or is a copy that " +
			"went on elsewhere: " + loss.String() + ". Nothing is written to daemons",
		Next: fmt.Sprintf("Find out who put it back, look at `muster audit verify`, then type `muster audit accept-loss %d` "+
			"on the server's machine. If all tokens are refused, stop the server and type `muster admin reset` first.",
			loss.To),
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
