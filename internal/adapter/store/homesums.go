package store

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// SumsFile is the name of the file of sums in the home folder: the newest ends of the audit, sealed, with the sum of
// each roster and table. A start that finds a loss compares the older database with them. Rows of rosters and tables
// that are as they were count; no row of the others does.
const SumsFile = "audit-sums"

// sumsProof is the name for which the content of the file of sums is sealed.
const sumsProof = "audit ends in the home"

// maxSumsBytes limits how much of the file is read. The ends have some thousand bytes.
const maxSumsBytes = 1 << 20

// homeEnds is what the home folder remembers of the audit. remembered has only LastID and LastHash, from the end file.
// sums is nil if the home folder has no sums, or older ones than the end file.
type homeEnds struct {
	remembered fleet.AuditEnds
	sums       *fleet.AuditEnds
}

// newest returns the ends with the newest entry that the home folder remembers. While a loss is not accepted, only the
// sums follow the audit.
func (h homeEnds) newest() fleet.AuditEnds {
	if h.sums != nil {
		return *h.sums
	}
	return h.remembered
}

// notBefore returns sums, or nil if they are older than remembered or of another audit. Then a crash came between the
// two files, or somebody replaced one. sums may be nil.
func notBefore(sums *fleet.AuditEnds, remembered fleet.AuditEnds) *fleet.AuditEnds {
	if sums == nil || sums.LastID < remembered.LastID {
		return nil
	}
	_, lost := openLoss(remembered)
	if sums.LastID == remembered.LastID && sums.LastHash != remembered.LastHash && !lost {
		return nil
	}
	return sums
}

// open opens both files for writing, and returns the ends in the file of sums. sums is nil if the file is missing or
// Muster did not write it.
func (e *endFile) open(s *Store) (sums *fleet.AuditEnds, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	path := filepath.Join(filepath.Dir(e.path), SumsFile)
	if e.sums, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return sums, err
	}
	if e.file, err = os.OpenFile(e.path, os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return sums, errors.Join(err, e.sums.Close())
	}
	content, err := io.ReadAll(io.LimitReader(e.sums, maxSumsBytes))
	if err != nil || len(content) == 0 {
		return sums, err
	}
	var ends fleet.AuditEnds
	if err := s.openProof(sumsProof, sumsIn(content), &ends); err != nil {
		s.log.Warn("the sums in the home folder are not as Muster wrote them", logkey.Err(err))
		return sums, nil
	}
	return &ends, nil
}

// keepSums writes the ends to the file of sums. The length comes first, because what is written may be shorter than
// what is there. The caller holds mu.
func (e *endFile) keepSums(s *Store, ends fleet.AuditEnds) error {
	sealed, err := s.sealProof(sumsProof, ends)
	if err != nil {
		return err
	}
	content := binary.BigEndian.AppendUint32(nil, uint32(len(sealed))) //nolint:gosec // some thousand bytes
	_, err = e.sums.WriteAt(append(content, sealed...), 0)
	return err
}

// sumsIn returns the sealed ends in the content of the file of sums, or nil if it is cut off.
func sumsIn(content []byte) []byte {
	const length = 4
	if len(content) < length {
		return nil
	}
	many := int64(binary.BigEndian.Uint32(content))
	if content = content[length:]; int64(len(content)) < many {
		return nil
	}
	return content[:many]
}

// forgetSums changes ends so that no roster and no table fits them. It is for a loss about which the home folder has no
// sums: nobody can tell which rows are as they were.
func (s *Store) forgetSums(ends *fleet.AuditEnds) {
	tables := map[string]fleet.TableMark{}
	for _, table := range markedTables {
		tables[table.name] = fleet.TableMark{Rows: ends.Tables[table.name].Rows, Sum: mark(s.keyed("not known")).String()}
	}
	ends.Rosters, ends.Tables = nil, tables
}
