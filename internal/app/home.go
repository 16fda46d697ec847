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
	"muster/internal/logkey"
	"muster/internal/seal"
)

// homeFiles are what Muster keeps in its home, for its own user only. Names may go on after them.
var homeFiles = []string{"muster.db", "muster.lock", seal.FileName, auth.AdminTokenFile, CertificateFile}

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

// closeHome keeps other users out of the home's files. The folder itself may be one that holds other things, too: then
// it is left as it is.
func (a *App) closeHome() error {
	entries, err := os.ReadDir(a.o.Home)
	if err != nil {
		return fmt.Errorf("read the home folder: %w", err)
	}
	onlyOurs := true
	for _, entry := range entries {
		if !isHomeFile(entry.Name()) {
			onlyOurs = false
		} else if entry.Type().IsRegular() {
			a.closeFile(filepath.Join(a.o.Home, entry.Name()), 0o600)
		}
	}
	if info, err := os.Stat(a.o.Home); err == nil && onlyOurs && info.Mode()&fs.ModeSticky == 0 { // not one like /tmp
		a.closeFile(a.o.Home, 0o700)
	}
	return nil
}

func isHomeFile(name string) bool {
	return slices.ContainsFunc(homeFiles, func(ours string) bool { return strings.HasPrefix(name, ours) })
}

// closeFile takes the rights of others away, and says so.
func (a *App) closeFile(path string, mode fs.FileMode) {
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm()&^mode == 0 {
		return
	}
	if err == nil {
		err = os.Chmod(path, info.Mode().Perm()&mode)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return // a companion of the database that is gone again
	}
	if err != nil {
		a.log.Error("others may read this, and it cannot be changed", logkey.Path, path, logkey.Err(err))
		return
	}
	a.log.Warn("others could read this; now they cannot", logkey.Path, path)
}

// sealKey is nil where there is none yet.
func sealKey(o Options) (*seal.Key, error) {
	if !o.SealKey.IsZero() {
		return seal.Parse(o.SealKey.Reveal())
	}
	key, err := seal.FromHome(o.Home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // no key is no error: the database may be new
	}
	return key, err
}
