package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// ProvenFile is the name of a file in the home that says what the database has proofs of. A program that writes to the
// database only cannot remove it. A seal check of before the proofs, put back from a copy, is refused because of it.
const ProvenFile = "proofs.kept"

// provenLevel is what the database has proofs of; each level has those of the ones before.
type provenLevel int

const (
	provenNothing provenLevel = iota
	provenRoles               // tokens, users and the audit
	provenDevices
	provenSecrets
)

const (
	provenText = "The database of this home has proofs. While this file is here, no database of before they were " +
		"kept is believed.\n"
	provenDevicesText = provenText + "The proofs of devices are among them.\n"
	provenSecretsText = provenDevicesText + "The proofs of secrets are, too.\n"
)

// markProven writes the file where there is a home and no file, or one of before.
func (s *Store) markProven() {
	if s.homePath == "" {
		return
	}
	level, err := s.markedLevel()
	if err == nil && level < provenSecrets {
		err = makeMark(s.homePath)
	}
	if err != nil {
		s.log.Error("the home cannot keep that the database has proofs: look at its disk and permissions", logkey.Path,
			filepath.Join(s.homePath, ProvenFile), logkey.Err(err))
	}
}

// markedLevel is what the file says.
func (s *Store) markedLevel() (provenLevel, error) {
	text, err := os.ReadFile(filepath.Join(s.homePath, ProvenFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return provenNothing, nil
	case err != nil:
		return provenNothing, fmt.Errorf("read what the database has proofs of: %w", err)
	case string(text) == provenSecretsText:
		return provenSecrets, nil
	case string(text) == provenDevicesText:
		return provenDevices, nil
	}
	return provenRoles, nil
}

// makeMark replaces the file at once: a crash leaves the one of before.
func makeMark(home string) error {
	f, err := os.CreateTemp(home, ProvenFile+".*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.WriteString(provenSecretsText)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	if err := os.Rename(f.Name(), filepath.Join(home, ProvenFile)); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	dir, err := os.Open(home)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// wantMarkBelow refuses a database without the proofs of a level where the file says that it has them.
func (s *Store) wantMarkBelow(level provenLevel) error {
	if s.homePath == "" {
		return nil
	}
	if marked, err := s.markedLevel(); err != nil || marked < level {
		return err
	}
	path := filepath.Join(s.homePath, ProvenFile)
	of := map[provenLevel]string{provenDevices: " of devices", provenSecrets: " of secrets"}[level]
	message := "the database says that it has no proofs" + of + " yet, and " + path + " says that it has"
	return &fleet.Error{
		Code: fleet.CodeConflict, During: "open database", Message: message,
		Hint: "If you put back a copy of before the proofs, remove that file and start again: the tokens, users, " +
			"addresses of devices and lists of secrets in the copy are believed. Otherwise another program writes to the " +
			"database: find out which, then restore a backup; or delete the row seal_check from the table meta and start " +
			"again, which believes nothing.",
	}
}
