package store

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// acceptCode is the secret that an administrator must give, in addition to their role, to accept a loss (see Loss).
// The code is never in the database: an admin token that came back with an older copy of the database therefore cannot
// accept that loss. Each start of the server and each accepted loss makes a new code.
type acceptCode struct {
	mu      sync.Mutex // guards code and written
	code    string
	written bool   // The file holds the code.
	path    string // path of the file for the code; "": the code is in memory only
}

func (a *acceptCode) renew(s *Store) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.code, a.written = rand.Text(), a.path == ""
	if err := a.write(); err != nil {
		s.log.Warn("the code that accepts a loss is not in the home folder", logkey.Err(err))
	}
}

// write writes the code into its file, unless it was written before. The caller holds mu.
func (a *acceptCode) write() error {
	if a.written {
		return nil
	}
	err := replaceFile(a.path, a.code+"\n")
	a.written = err == nil
	return err
}

func (a *acceptCode) now() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.code
}

// check returns nil if code is the present code, else a forbidden error. If the present code could not be written into
// its file before, check writes it now, so that a person can read it for the next try. If that fails again, the error
// is unavailable.
func (a *acceptCode) check(code string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if subtle.ConstantTimeCompare([]byte(code), []byte(a.code)) == 1 {
		return nil
	}
	if err := a.write(); err != nil {
		return &fleet.Error{
			Code:    fleet.CodeUnavailable,
			Err:     err,
			Message: "the code that accepts a loss cannot be written into the server's home folder: " + err.Error(),
			Hint:    "Free space there, or let the server write there, and type the command again.",
		}
	}
	return &fleet.Error{
		Code: fleet.CodeForbidden,
		Message: "to accept what is lost takes the code of the server's home folder: an administrator's token may have " +
			"come back with the database",
		Hint: fmt.Sprintf("Type the command on the server's machine, as the user that may read its home folder, or give the "+
			"content of the file %s there with --code.", fleet.AcceptFile),
	}
}

// replaceFile replaces the content of a file as a whole or not at all. Only the file's owner may read it.
func replaceFile(path, content string) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // made with 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // The file is gone already after a rename that succeeded.
	_, err = f.WriteString(content)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
