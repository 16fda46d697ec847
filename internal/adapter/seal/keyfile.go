package seal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"muster/internal/fleet"
)

// FileName is the name of the key file in Muster's home directory.
const FileName = "seal.key"

// FromHome reads the keys in <home>/seal.key, one per line. The error wraps fs.ErrNotExist if there is no such file.
func FromHome(home string) (*Ring, error) { return read(filepath.Join(home, FileName)) }

// Make creates <home>/seal.key with a new key, unless the file exists. Only its owner can read it, and it is on disk
// when Make returns. Call Make only if nothing is sealed in the database yet: a new key cannot open what an older key
// sealed, and the next backup would contain the new key instead of the right one.
func Make(home string) (*Ring, error) {
	path := filepath.Join(home, FileName)
	// os.Link never replaces an existing file.
	err := write(home, NewRing(Random()), func(temp string) error { return os.Link(temp, path) })
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, unusable("make", err)
	}
	return read(path) // Another process may have created the file first.
}

// Keep replaces the content of <home>/seal.key by the keys of a ring. They are on disk when Keep returns.
func Keep(home string, ring *Ring) error {
	path := filepath.Join(home, FileName)
	if err := write(home, ring, func(temp string) error { return os.Rename(temp, path) }); err != nil {
		return unusable("write", err)
	}
	return nil
}

// Sweep removes temporary files beside <home>/seal.key that a killed process left, because they may contain keys that
// are no longer in use. No other process may be writing the file.
func Sweep(home string) error {
	left, err := filepath.Glob(filepath.Join(home, FileName+".*"))
	for _, path := range left {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

func read(path string) (*Ring, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, unusable("read", err)
	}
	ring, err := ParseRing(string(text))
	if err != nil {
		return nil, &fleet.Error{
			Code: fleet.CodeConflict, During: "read " + FileName, Message: "the file is damaged: it is no seal key",
			Hint: "Put back a copy of it. Without it the API keys and configurations in the database cannot be read.", Err: err,
		}
	}
	return ring, nil
}

func unusable(what string, err error) error {
	return &fleet.Error{
		Code: fleet.CodeUnavailable, Message: "cannot " + what + " " + FileName + " in the home folder: " + err.Error(),
		Hint: "Look whether the folder belongs to the user that runs Muster and its disk has room, or give another one " +
			"with --home.", Err: err,
	}
}

// write writes the keys to a temporary file and calls place to put it in its final place. A crash therefore never
// leaves an incomplete key file.
func write(home string, ring *Ring, place func(temp string) error) error {
	temp, err := os.CreateTemp(home, FileName+".*") // mode 0600
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp.Name()) }()
	_, err = temp.WriteString(ring.Text().Reveal())
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	if err := place(temp.Name()); err != nil {
		return err
	}
	dir, err := os.Open(home)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
