package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"muster/internal/adapter/listen"
	"muster/internal/adapter/seal"
	"muster/internal/adapter/store"
	"muster/internal/edge/auth"
	"muster/internal/engine/backup"
	"muster/internal/fleet"
)

// unfinishedFolder exists in a home directory while a restore fills it. A server does not start when it exists.
const unfinishedFolder = "restore.unfinished"

// restorable are the files of a home directory that a backup may contain.
var restorable = []string{
	seal.FileName, listen.CertificateFile, auth.AdminTokenFile, GivenCertificateFile, GivenKeyFile,
}

// Revived lists who has a role after a restore. Some of them may have lost it since the backup.
type Revived struct {
	Tokens []fleet.Token
	Users  []fleet.User
}

// Restore fills an empty home directory, and an empty database if the options name one, from a backup. It reads the
// whole backup before it writes anything, and refuses one that is damaged or that its own keys cannot open. When it
// fails it leaves the home directory as it was. A server on the restored home writes to no daemon until a person
// resumes.
func Restore(ctx context.Context, o Options, path string, opener backup.Opener) (content backup.Content,
	revived Revived, err error) {
	content, err = backup.Read(path, opener, func(content backup.Content) (backup.Sink, error) {
		keys, err := keysIn(content)
		if err != nil {
			return nil, err
		}
		return store.NewChecker(keys), checkFiles(content)
	})
	if err != nil {
		return content, revived, err
	}
	made, err := emptyHome(o.Home)
	if err != nil {
		return content, revived, err
	}
	r := restore{Options: o, path: path, opener: opener, staged: filepath.Join(o.Home, unfinishedFolder)}
	if revived, err = r.run(ctx, content); err != nil {
		err = errors.Join(err, os.RemoveAll(r.staged))
		if made {
			err = errors.Join(err, os.Remove(o.Home))
		}
	}
	return content, revived, err
}

func checkFiles(content backup.Content) error {
	for _, file := range content.Files {
		if !slices.Contains(restorable, file.Name) {
			return fmt.Errorf("the backup has a file %q, which belongs into no home", file.Name)
		}
	}
	return nil
}

// emptyHome refuses a home directory that a server or a restore has used. It creates a missing one.
func emptyHome(home string) (made bool, err error) {
	entries, err := os.ReadDir(home)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(home, 0o700); err != nil {
			return false, fmt.Errorf("make the home folder: %w", err)
		}
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the home folder: %w", err)
	}
	for _, entry := range entries {
		if entry.Name() == unfinishedFolder {
			return false, unfinished(home)
		}
		if isHomeFile(entry.Name()) || slices.Contains(restorable, entry.Name()) {
			return false, &fleet.Error{Code: fleet.CodeConflict,
				Message: fmt.Sprintf("the home folder %s is not empty: it has %s", home, entry.Name()),
				Hint: "Name an empty folder with --home: a restore replaces nothing. To have this one's place, stop its server " +
					"and move the folder away."}
		}
	}
	return false, nil
}

func unfinished(home string) error {
	return &fleet.Error{Code: fleet.CodeConflict, Message: "a restore into " + home + " was cut short",
		Hint: fmt.Sprintf("Type: rm -r '%s'. Remove what else of a backup is in the folder (%s, muster.db), empty the "+
			"database if it is PostgreSQL, and restore again.", filepath.Join(home, unfinishedFolder), seal.FileName)}
}

// restore is a restore that is being made.
type restore struct {
	Options
	path   string
	opener backup.Opener
	staged string
}

func (r restore) run(ctx context.Context, content backup.Content) (revived Revived, err error) {
	if err := os.Mkdir(r.staged, 0o700); err != nil {
		return revived, fmt.Errorf("begin the restore: %w", err)
	}
	for _, file := range content.Files {
		if err := writeDurably(filepath.Join(r.staged, file.Name), file.Data); err != nil {
			return revived, err
		}
	}
	at := fleet.Restored{BackupAt: content.CreatedAt, At: time.Now()}
	database := store.Options{DSN: r.Database, Home: r.staged}
	err = store.Load(ctx, database, at, func(to store.Sink) error {
		_, err := backup.Read(r.path, r.opener, func(backup.Content) (backup.Sink, error) { return to, nil })
		return err
	})
	if err != nil {
		return revived, err
	}
	if revived, err = r.record(ctx, database, content, at); err != nil {
		return revived, err
	}
	return revived, r.place()
}

// record migrates the tables, records the restore in the audit, and returns who has a role.
func (r restore) record(ctx context.Context, database store.Options, content backup.Content, at fleet.Restored) (
	revived Revived, err error) {
	keys, err := keysIn(content)
	if err != nil {
		return revived, err
	}
	database.Seal, database.EndFile = keys, filepath.Join(r.staged, store.EndFile)
	database.Restored = &at // The entry `restore` says all that `audit.end` would.
	opened, err := store.Open(ctx, database)
	if err != nil {
		return revived, err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	ctx = fleet.WithActor(ctx, "restore")
	if err := opened.RecordRestore(ctx, "backup of "+content.CreatedAt.Format(time.RFC3339)); err != nil {
		return revived, err
	}
	if revived.Tokens, err = opened.Tokens(ctx); err != nil {
		return revived, err
	}
	revived.Users, err = opened.Users(ctx)
	return revived, err
}

// place moves the restored files into the home directory, the database last. Then it removes the temporary folder.
func (r restore) place() error {
	entries, err := os.ReadDir(r.staged)
	if err != nil {
		return fmt.Errorf("finish the restore: %w", err)
	}
	slices.SortStableFunc(entries, func(a, b fs.DirEntry) int {
		return map[bool]int{true: 1}[a.Name() == "muster.db"] - map[bool]int{true: 1}[b.Name() == "muster.db"]
	})
	for _, entry := range entries {
		if err := os.Rename(filepath.Join(r.staged, entry.Name()), filepath.Join(r.Home, entry.Name())); err != nil {
			return fmt.Errorf("finish the restore: %w", err)
		}
	}
	if err := syncFolder(r.Home); err != nil {
		return err
	}
	if err := os.Remove(r.staged); err != nil {
		return fmt.Errorf("finish the restore: %w", err)
	}
	return syncFolder(r.Home)
}

func writeDurably(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write into the home folder: %w", err)
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

func syncFolder(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("write the home folder to the disk: %w", err)
	}
	return errors.Join(dir.Sync(), dir.Close())
}
