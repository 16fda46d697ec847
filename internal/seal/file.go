package seal

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"muster/internal/fleet"
)

// FileName is the name of the key file in Muster's home.
const FileName = "seal.key"

// FromHome reads <home>/seal.key. Where there is none the error is fs.ErrNotExist.
func FromHome(home string) (*Key, error) { return read(filepath.Join(home, FileName)) }

// Make makes <home>/seal.key where there is none: readable by its owner only, and on disk before anything is sealed
// with it. It is for a database in which nothing is sealed yet: a new key beside an old database would look like the
// right one, and take its place in the next backup.
func Make(home string) (*Key, error) {
	path := filepath.Join(home, FileName)
	if err := create(home, path); err != nil {
		return nil, unusable("make", err)
	}
	return read(path) // what is there now: another process may have been first
}

func read(path string) (*Key, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, unusable("read", err)
	}
	key, err := Parse(string(text))
	if err != nil {
		return nil, &fleet.Error{
			Code: fleet.CodeConflict, During: "read " + FileName, Message: "the file is damaged: it is no seal key",
			Hint: "Put back a copy of it. Without it the API keys and configurations in the database cannot be read.", Err: err,
		}
	}
	return key, nil
}

func unusable(what string, err error) error {
	return &fleet.Error{
		Code: fleet.CodeUnavailable, Message: "cannot " + what + " " + FileName + " in the home folder: " + err.Error(),
		Hint: "Look whether the folder belongs to the user that runs Muster and its disk has room, or give another one " +
			"with --home.", Err: err,
	}
}

// create goes through a temporary file, so that a crash never leaves half a key, and a link, so that an existing key
// is never replaced.
func create(home, path string) error {
	temp, err := os.CreateTemp(home, FileName+".*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp.Name()) }()
	key := make([]byte, KeyBytes)
	_, _ = rand.Read(key) // never fails: it ends the process instead
	_, err = fmt.Fprintln(temp, hex.EncodeToString(key))
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	if err := os.Link(temp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	dir, err := os.Open(home)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
