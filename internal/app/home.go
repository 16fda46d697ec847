package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"muster/internal/auth"
	"muster/internal/fleet"
	"muster/internal/listen"
	"muster/internal/logkey"
	"muster/internal/seal"
	"muster/internal/store"
)

// homeFiles are what Muster keeps in its home, for its own user only. Names may go on after them.
var homeFiles = []string{"muster.db", "muster.lock", seal.FileName, auth.AdminTokenFile, listen.CertificateFile,
	GivenCertificateFile, GivenKeyFile, store.ProvenFile}

// prepareHome makes the home folder, or takes from others what they may do there. A demo without one gets a folder
// that goes with it.
func (a *App) prepareHome() error {
	if a.o.Demo > 0 && a.o.Home == "" {
		home, err := os.MkdirTemp("", "muster-demo-")
		if err != nil {
			return fmt.Errorf("make a home for the demo: %w", err)
		}
		a.o.Home = home
		a.life.onStop("demo home", func(context.Context) error { return os.RemoveAll(home) })
		return nil
	}
	if err := os.MkdirAll(a.o.Home, 0o700); err != nil {
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "the home folder cannot be made: " + err.Error(),
			Hint: "Give another one with --home DIR."}
	}
	return a.closeHome()
}

// closeHome keeps other users out of the home's files. What others could write is refused: it may be theirs. What they
// could read is closed. The folder itself may be one that holds other things, too: then it stays readable.
func (a *App) closeHome() error {
	entries, err := os.ReadDir(a.o.Home)
	if err != nil {
		return fmt.Errorf("read the home folder: %w", err)
	}
	if len(entries) == 0 {
		return a.closeFile(a.o.Home, 0o700)
	}
	onlyOurs := true
	for _, entry := range entries {
		if entry.Name() == unfinishedFolder {
			return unfinished(a.o.Home)
		}
		if !isHomeFile(entry.Name()) {
			onlyOurs = false
		} else if entry.Type().IsRegular() {
			if err := a.closeUnwritable(filepath.Join(a.o.Home, entry.Name()), 0o600); err != nil {
				return err
			}
		}
	}
	if onlyOurs {
		return a.closeUnwritable(a.o.Home, 0o700)
	}
	return a.closeUnwritable(a.o.Home, 0o755)
}

// closeUnwritable takes the rights of others away where they could not write.
func (a *App) closeUnwritable(path string, mode fs.FileMode) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a companion of the database that is gone again
	}
	if err == nil {
		err = seal.CheckWritable(path, info)
	}
	if err != nil {
		return err
	}
	return a.closeFile(path, mode)
}

func isHomeFile(name string) bool {
	return slices.ContainsFunc(homeFiles, func(ours string) bool { return strings.HasPrefix(name, ours) })
}

// closeFile takes the rights of others away, and says so. Where that cannot be done the server does not start.
func (a *App) closeFile(path string, mode fs.FileMode) error {
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm()&^mode == 0 {
		return nil
	}
	if err == nil {
		err = os.Chmod(path, info.Mode().Perm()&mode)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a companion of the database that is gone again
	}
	if err != nil {
		return &fleet.Error{
			Code: fleet.CodeInvalid, Message: "other users may use " + path + ", and that cannot be changed: " + err.Error(),
			Hint: fmt.Sprintf("Type as its owner: chmod %o '%s'. Or give a folder of its own with --home DIR.", mode, path),
			Err:  err,
		}
	}
	a.log.Warn("others could read this; now they cannot", logkey.Path, path)
	return nil
}

// sealKeys is nil where there are none yet.
func sealKeys(o Options) (*seal.Ring, error) {
	if !o.SealKey.IsZero() {
		return seal.ParseRing(o.SealKey.Reveal())
	}
	keys, err := seal.FromHome(o.Home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // no key is no error: the database may be new
	}
	return keys, err
}
