package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"muster/internal/auth"
	"muster/internal/backup"
	"muster/internal/fleet"
	"muster/internal/listen"
	"muster/internal/logkey"
	"muster/internal/seal"
	"muster/internal/store"
)

// Names in a backup, and in a home that was restored, of a certificate and key that were given from outside.
const (
	GivenCertificateFile = "tls-cert.pem"
	GivenKeyFile         = "tls-key.pem"
)

// BackUp writes everything that a server keeps into one file, and reads it back: that the content is whole, and that
// the seal keys in it open every value. The server may serve meanwhile. Of the options it takes where the server keeps
// what.
func BackUp(ctx context.Context, o Options, path string, lock backup.Lock) (backup.Made, error) {
	if lock.IsZero() {
		return backup.Made{}, &fleet.Error{Code: fleet.CodeInvalid, Message: "say what the backup is encrypted to",
			Hint: "Give --backup-recipient age1… (`age-keygen -o backup-key.txt` makes one) or --backup-passphrase-file FILE."}
	}
	before, err := keysThere(o)
	if err != nil {
		return backup.Made{}, err
	}
	return backup.Create(path, backup.Source{
		Muster: o.Version, Now: time.Now().Truncate(time.Millisecond), Lock: lock, Tell: o.BackupProgress,
		Dump: func(to backup.Sink) error {
			return store.Dump(ctx, store.Options{DSN: o.Database, Home: o.Home}, to)
		},
		Files: func() ([]backup.File, error) {
			now, err := keysThere(o)
			if err != nil {
				return nil, err
			}
			// A rotation may have begun or ended meanwhile: what the database holds was sealed with one of these.
			return backupFiles(o, now.Merged(before))
		},
		Check: func(content backup.Content) (backup.Sink, error) {
			keys, err := keysIn(content)
			return store.NewChecker(keys), err
		},
	})
}

func keysThere(o Options) (*seal.Ring, error) {
	keys, err := sealKeys(o)
	if err == nil && keys == nil {
		err = &fleet.Error{Code: fleet.CodeNotFound, Message: "there is no " + seal.FileName + " in " + o.Home,
			Hint: "Name the home folder of the server with --home, or give the key with --seal-key-file. Without it a backup " +
				"could not be read."}
	}
	return keys, err
}

func keysIn(content backup.Content) (*seal.Ring, error) {
	text, err := content.File(seal.FileName)
	if err != nil {
		return nil, err
	}
	return seal.ParseRing(string(text))
}

// backupFiles are the files beside the database.
func backupFiles(o Options, keys *seal.Ring) ([]backup.File, error) {
	files := []backup.File{{Name: seal.FileName, Data: []byte(keys.Text().Reveal())}}
	for _, one := range []struct{ name, path string }{
		{listen.CertificateFile, filepath.Join(o.Home, listen.CertificateFile)},
		{auth.AdminTokenFile, filepath.Join(o.Home, auth.AdminTokenFile)},
		{GivenCertificateFile, o.TLSCert}, {GivenKeyFile, o.TLSKey},
	} {
		if one.path == "" {
			continue
		}
		data, err := os.ReadFile(one.path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read what belongs into the backup: %w", err)
		}
		files = append(files, backup.File{Name: one.name, Data: data})
	}
	return files, nil
}

// newBackups makes the backups that the server was started with, or none.
func (a *App) newBackups() *backup.Schedule {
	create := func(ctx context.Context, path string, lock backup.Lock) (backup.Made, error) {
		return BackUp(ctx, a.o, path, lock)
	}
	return backup.NewSchedule(a.o.Backup, create, time.Now, a.log)
}

// logRestored says why a server that was restored writes nothing.
func (a *App) logRestored(registry *fleet.Registry) {
	if r := registry.Restored; r != nil {
		a.log.Warn("restored from a backup: nothing is written to daemons until an admin types `muster resume`; "+
			"`muster status` says how many devices differ from their plans", logkey.BackupAt, r.BackupAt)
	}
}
