package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"muster/internal/engine/backup"
	"muster/internal/fleet"
)

// ownBackups is the folder of the home below which administrators may have backups made. Others are named on the
// machine (see Options.BackupRoots), because the server writes and deletes files there.
const ownBackups = "backups"

// backupsStay is how long a backup stays at least where settings decide about backups: with a stolen token of an
// administrator nobody removes all of them by making many new ones.
const backupsStay = 14 * 24 * time.Hour

// backupPlan answers when backups are made, and where.
func (a *App) backupPlan() backup.Plan {
	every, to := a.policy.Of(fleet.SettingBackupEvery), a.policy.Of(fleet.SettingBackupTo)
	keep := a.policy.Of(fleet.SettingBackupKeep)
	plan := backup.Plan{Every: every.Duration(), Folder: to.Value, Keep: keep.Number(), Lock: a.o.BackupLock,
		Held: a.heldBackups(every, to)}
	if to.Source == fleet.SettingStored {
		plan.Check = func() error { return a.checkBackupLinks(to.Value) }
	}
	byMachine := every.Source == fleet.SettingByFlag && to.Source == fleet.SettingByFlag
	if !byMachine || keep.Source == fleet.SettingStored {
		plan.Stay = backupsStay
	}
	return plan
}

// heldBackups says why no backups are made although settings may ask for them, or returns nil. The machine may allow
// other folders than when the folder was set.
func (a *App) heldBackups(every, to fleet.SettingState) *fleet.Impairment {
	asked := every.Duration() > 0
	switch {
	case a.o.BackupLock.IsZero():
	case every.Source == fleet.SettingByGuard || asked && to.Source == fleet.SettingByGuard:
		return &fleet.Impairment{Part: fleet.PartBackup,
			Reason: "the server makes no backups, because the database is in doubt and with it the settings of backups",
			Next: "Type `muster audit verify`. Meanwhile make a backup on the server's machine with `muster backup " +
				"FILE`, or start the server with --backup-every and --backup-to."}
	case asked && to.Source == fleet.SettingStored && to.Value != "":
		if a.checkBackupPlace(to.Value) != nil {
			return &fleet.Impairment{Part: fleet.PartBackup,
				Reason: "the server makes no backups, because it was started without a --backup-root for the folder " +
					"of the setting backupTo",
				Next: "On the server's machine, start it with --backup-root and that folder, or choose another: " +
					"`muster setting set backupTo DIR`."}
		}
	}
	return nil
}

// checkBackupSetting refuses values that backups cannot use.
func (a *App) checkBackupSetting(now map[fleet.SettingName]fleet.SettingState, name fleet.SettingName, value string,
) error {
	if name == fleet.SettingBackupTo {
		if value == "" {
			return nil
		}
		return a.checkBackupPlace(value)
	}
	switch next := (fleet.SettingState{Value: value}); {
	case next.Duration() == 0:
	case a.o.BackupLock.IsZero():
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "the server has nothing that backups are encrypted to",
			Hint: "On its machine, start it with --backup-recipient age1… or --backup-passphrase-file FILE."}
	case now[fleet.SettingBackupTo].Value == "":
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "backups have no folder yet",
			Hint: "Name it first: `muster setting set backupTo DIR`."}
	}
	return nil
}

// backupRoots returns the folders below which administrators may have backups made, as whole paths.
func (a *App) backupRoots() (roots []string) {
	for _, root := range append([]string{filepath.Join(a.o.Home, ownBackups)}, a.o.BackupRoots...) {
		if whole, err := filepath.Abs(root); err == nil {
			roots = append(roots, whole)
		}
	}
	return roots
}

func (a *App) checkBackupPlace(folder string) error {
	roots := a.backupRoots()
	for _, root := range roots {
		if isBelow(folder, root) {
			return nil
		}
	}
	return &fleet.Error{Code: fleet.CodeInvalid,
		Message: "backups may not be made in " + folder + ", only below " + strings.Join(roots, ", "),
		Hint:    "On the server's machine, start it with --backup-root and the folder, or choose one below these."}
}

// checkBackupLinks is checkBackupPlace for where the folder is once symbolic links are followed.
func (a *App) checkBackupLinks(folder string) error {
	if err := a.checkBackupPlace(folder); err != nil {
		return err
	}
	place, err := followed(folder)
	if err != nil {
		return cannotBackUp(folder, err)
	}
	for _, root := range a.backupRoots() {
		if rootPlace, err := followed(root); err == nil && isBelow(folder, root) && isBelow(place, rootPlace) {
			return nil
		}
	}
	return &fleet.Error{Code: fleet.CodeInvalid,
		Message: "backups may not be made in " + folder + ", because it leads by a symbolic link to " + place,
		Hint: "On the server's machine, start it with --backup-root and that folder, or choose a folder without " +
			"links."}
}

// followed returns a path without symbolic links. The end of the path may not be there yet.
func followed(path string) (string, error) {
	place, err := filepath.EvalSymlinks(path)
	if parent := filepath.Dir(path); errors.Is(err, fs.ErrNotExist) && parent != path {
		place, err = followed(parent)
		return filepath.Join(place, filepath.Base(path)), err
	}
	return place, err
}

// isBelow reports whether a path is a folder or below it.
func isBelow(path, folder string) bool {
	relative, err := filepath.Rel(folder, path)
	return err == nil && relative != ".." && !strings.HasPrefix(relative, ".."+string(filepath.Separator))
}

// makeOwnBackups makes a folder for backups that is in the home. Any other has to be there: it may be a disk that is
// not mounted.
func (a *App) makeOwnBackups(folder string) error {
	if !isBelow(folder, a.backupRoots()[0]) {
		return nil
	}
	return os.MkdirAll(folder, 0o700)
}

// tryFolder tries whether backups can be made in a folder, as the setting backupTo.
func (a *App) tryFolder(ctx context.Context, folder string) (string, error) {
	now := a.policy.Of(fleet.SettingBackupTo)
	byFlag := now.Source == fleet.SettingByFlag && now.Value == folder // A flag may name any place.
	if folder != "" && !byFlag {
		if err := a.checkBackupLinks(folder); err != nil {
			return "", err
		}
	}
	if err := a.store.Record(ctx, auditTrial, string(fleet.SettingBackupTo), folder); err != nil {
		return "", err
	}
	if err := a.tryBackupPlace(folder); err != nil {
		return "", err
	}
	return "A file was written in " + folder + ", read back and removed.", nil
}

func (a *App) tryBackupPlace(folder string) error {
	const text = "Muster tries whether backups can be made here.\n"
	if folder == "" {
		return &fleet.Error{Code: fleet.CodeInvalid, Message: "there is no folder to try", Hint: "Name one."}
	}
	if err := a.makeOwnBackups(folder); err != nil {
		return cannotBackUp(folder, err)
	}
	file, err := os.CreateTemp(folder, ".muster-test-")
	if err != nil {
		return cannotBackUp(folder, err)
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return cannotBackUp(folder, err)
	}
	if read, err := os.ReadFile(file.Name()); err != nil || string(read) != text {
		return cannotBackUp(folder, errors.Join(err, errors.New("what was read back differs")))
	}
	return nil
}

func cannotBackUp(folder string, err error) error {
	why := "it cannot be written to"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		why = "there is no such folder"
	case errors.Is(err, fs.ErrPermission):
		why = "the server's user may not write there"
	}
	return &fleet.Error{Code: fleet.CodeInvalid, Message: "no backup can be made in " + folder + ": " + why,
		Hint: "Make the folder on the server's machine, for the user that runs the server.", Err: err}
}
