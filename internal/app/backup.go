package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"muster/internal/adapter/listen"
	"muster/internal/adapter/seal"
	"muster/internal/adapter/store"
	"muster/internal/edge/auth"
	"muster/internal/engine/backup"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// The names, in a backup and in a restored home directory, of a certificate and key that the options named elsewhere.
const (
	GivenCertificateFile = "tls-cert.pem"
	GivenKeyFile         = "tls-key.pem"
)

// BackUp writes everything that a server stores into one file. It reads the file back, and checks that the content is
// complete and that the seal keys in it open every sealed value. The server may be running. Of the options it uses
// only those that say where the server stores its data.
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
		Muster: o.Build.String(), Now: time.Now().Truncate(time.Millisecond), Lock: lock, Tell: o.BackupProgress,
		Dump: func(to backup.Sink) error {
			return store.Dump(ctx, store.Options{DSN: o.Database, Home: o.Home}, to)
		},
		Files: func() ([]backup.File, error) {
			now, err := keysThere(o)
			if err != nil {
				return nil, err
			}
			// A rotation may have started or ended meanwhile, so the values may be sealed with the keys of before or
			// after.
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

// backupFiles returns the files that a backup contains besides the database.
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

// newBackups makes the schedule of backups, which follows the settings.
func (a *App) newBackups() *backup.Schedule {
	create := func(ctx context.Context, path string, lock backup.Lock) (backup.Made, error) {
		if err := a.makeOwnBackups(filepath.Dir(path)); err != nil {
			return backup.Made{}, err
		}
		return BackUp(ctx, a.o, path, lock)
	}
	return backup.NewSchedule(a.backupPlan, create, time.Now, a.log)
}

// logRestored logs why a restored server writes nothing.
func (a *App) logRestored(registry *fleet.Registry) {
	if r := registry.Restored; r != nil {
		a.log.Warn("restored from a backup: nothing is written to daemons until an admin types `muster resume`; "+
			"`muster status` says how many devices differ from their plans", logkey.BackupAt, r.BackupAt)
	}
}
