package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"muster/internal/fleet"
)

// homeLock keeps other servers out of a home directory: it holds the lock of a file there until release is called or
// the process ends.
type homeLock struct {
	home string
	file *os.File
	db   os.FileInfo // identifies the database file; nil before it is opened
}

func lockHome(home string) (*homeLock, error) {
	h := &homeLock{home: home}
	if err := h.take(); err != nil {
		return nil, err
	}
	return h, nil
}

func (h *homeLock) take() error {
	f, err := os.OpenFile(filepath.Join(h.home, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		hint := "Look whether the home directory belongs to the user that runs Muster."
		if errors.Is(err, fs.ErrNotExist) {
			hint = "Make the home directory first."
		}
		return &fleet.Error{
			Code: fleet.CodeUnavailable, During: "lock database", Message: "the lock file in the home directory cannot be made",
			Hint: hint, Err: err,
		}
	}
	taken, err := lockExclusive(f)
	if err != nil || taken {
		err = errors.Join(err, f.Close())
		if taken {
			return inUse("home directory", err)
		}
		return fmt.Errorf("lock %s: %w", lockFile, err)
	}
	h.file = f
	return nil
}

// opened records which file is the database. It uses os.Stat, because opening and closing the file would drop SQLite's
// own locks.
func (h *homeLock) opened() (err error) {
	h.db, err = os.Stat(filepath.Join(h.home, sqliteFile))
	return err
}

// check checks that the database file is still the one that was opened, and that the lock file is still the one that
// is locked. If somebody removed the lock file, check creates and locks a new one. again is then true, because another
// server may have run in between.
func (h *homeLock) check() (again bool, err error) {
	now, err := os.Stat(filepath.Join(h.home, sqliteFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, &fleet.Error{ // An error of the disk may pass.
			Code: fleet.CodeUnavailable, During: "check the lock", Message: "the home directory cannot be read", Err: err,
			Hint: "Look at its disk and its permissions.",
		}
	}
	if err != nil || !os.SameFile(now, h.db) {
		return false, &fleet.Error{
			Code: fleet.CodeUnavailable, During: "check the lock", Err: errors.Join(errTaken, err),
			Message: "the database file was removed or replaced while this server ran",
			Hint:    "Nothing is written any more. Start the server again when the right file is there.",
		}
	}
	ours, err := h.file.Stat()
	if err != nil {
		return false, err
	}
	if now, err := os.Stat(filepath.Join(h.home, lockFile)); err == nil && os.SameFile(now, ours) {
		return false, nil
	}
	before := h.file
	if err := h.take(); err != nil {
		if fleet.CodeOf(err) == fleet.CodeConflict {
			err = takenBy("home directory", err)
		}
		return false, err
	}
	return true, before.Close()
}

// release unlocks the file before it closes it. Closing alone might not unlock at once: a child process that is just
// being started has the file open until it executes its program.
func (h *homeLock) release() error { return errors.Join(unlock(h.file), h.file.Close()) }
