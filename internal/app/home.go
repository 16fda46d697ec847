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

	"muster/internal/adapter/listen"
	"muster/internal/adapter/seal"
	"muster/internal/adapter/store"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// homeFiles are the names of Muster's files in its home directory, which only its own user may read. A file's name may
// continue after such a name.
var homeFiles = []string{
	"muster.db",
	"muster.lock",
	seal.FileName,
	auth.AdminTokenFile,
	store.EndFile,
	store.SumsFile,
	fleet.AcceptFile,
	fleet.LoginLinkFile,
	listen.CertificateFile,
	GivenCertificateFile,
	GivenKeyFile,
}

// prepareHome creates the home directory, or removes other users' rights on it. A demo without a home gets a temporary
// one.
func (a *App) prepareHome() error {
	if a.o.Demo > 0 && a.o.Home == "" {
		home, err := os.MkdirTemp("", "muster-demo-")
		if err != nil {
			return fmt.Errorf("make a home for the demo: %w", err)
		}
		a.o.Home, a.newHome = home, true
		a.life.onStop("demo home", func(context.Context) error { return os.RemoveAll(home) })
		return nil
	}
	if err := os.MkdirAll(a.o.Home, 0o700); err != nil {
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "the home folder cannot be made: " + err.Error(),
			Hint: "Give another one with --home DIR."}
	}
	return a.closeHome()
}

// closeHome prevents other users from reading the files of the home directory. It refuses a file that others could
// have written, because its content may be theirs. The directory itself may contain other things, so it stays
// readable.
func (a *App) closeHome() error {
	entries, err := os.ReadDir(a.o.Home)
	if err != nil {
		return fmt.Errorf("read the home folder: %w", err)
	}
	a.newHome = !slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return isHomeFile(e.Name()) })
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

// closeUnwritable removes the rights of other users from a file that they cannot write.
func (a *App) closeUnwritable(path string, mode fs.FileMode) error {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // A temporary file of the database has disappeared again.
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

// closeFile removes the rights of other users and logs that. When it cannot, the server does not start.
func (a *App) closeFile(path string, mode fs.FileMode) error {
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm()&^mode == 0 {
		return nil
	}
	if err == nil {
		err = os.Chmod(path, info.Mode().Perm()&mode)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil // A temporary file of the database has disappeared again.
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

// sealKeys reads the seal keys. It returns nil when none exist yet.
func sealKeys(o Options) (*seal.Ring, error) {
	if !o.SealKey.IsZero() {
		return seal.ParseRing(o.SealKey.Reveal())
	}
	keys, err := seal.FromHome(o.Home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // A missing key is not an error, because the database may be new.
	}
	return keys, err
}
