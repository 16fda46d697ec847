package store

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// ProvenFile is the name of a file in the home that says that the database has proofs. Who writes to the database only
// cannot take it away: a seal check of before the proofs, put back from a copy, has nothing believed a second time.
const ProvenFile = "proofs.kept"

const provenText = "The database of this home has proofs. While this file is here, no database of before they were " +
	"kept is believed.\n"

// markProven makes the file where there is a home and no file.
func (s *Store) markProven() {
	if s.homePath == "" {
		return
	}
	if err := makeMark(s.homePath); err != nil && !errors.Is(err, fs.ErrExist) {
		s.log.Error("the home cannot keep that the database has proofs: look at its disk and permissions", logkey.Path,
			filepath.Join(s.homePath, ProvenFile), logkey.Err(err))
	}
}

func makeMark(home string) error {
	f, err := os.OpenFile(filepath.Join(home, ProvenFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(provenText)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	dir, err := os.Open(home)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// wantNoMark refuses a database of before where the file is there.
func (s *Store) wantNoMark() error {
	if s.homePath == "" {
		return nil
	}
	path := filepath.Join(s.homePath, ProvenFile)
	_, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return &fleet.Error{
		Code: fleet.CodeConflict, During: "open database",
		Message: "the database says that it has no proofs yet, and " + path + " says that it has",
		Hint: "If you put back a copy of before the proofs, remove that file and start again: the tokens and users in the " +
			"copy are believed. Otherwise another program writes to the database: find out which, then restore a backup; " +
			"or delete the row seal_check from the table meta and start again, which believes nothing.",
	}
}
