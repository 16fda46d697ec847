package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"muster/internal/engine/backup"
	"muster/internal/fleet"
)

// ownBackups is the folder of the home below which administrators may have backups made. Others are named on the
// machine (see Options.BackupRoots), because the server writes and deletes files there.
const ownBackups = "backups"

// backupPlan answers when backups are made, and where.
func (a *App) backupPlan() backup.Plan {
	return backup.Plan{
		Every:  a.policy.Of(fleet.SettingBackupEvery).Duration(),
		Folder: a.policy.Of(fleet.SettingBackupTo).Value,
		Keep:   a.policy.Of(fleet.SettingBackupKeep).Number(),
		Lock:   a.o.BackupLock,
	}
}

// checkSetting refuses values that this server cannot use.
func (a *App) checkSetting(now map[fleet.SettingName]fleet.SettingState, name fleet.SettingName, value string) error {
	switch name {
	case fleet.SettingBackupTo:
		if value == "" {
			return nil
		}
		return a.checkBackupPlace(value)
	case fleet.SettingBackupEvery:
		switch next := (fleet.SettingState{Value: value}); {
		case next.Duration() == 0:
		case a.o.BackupLock.IsZero():
			return &fleet.Error{Code: fleet.CodeInvalid, Message: "the server has nothing that backups are encrypted to",
				Hint: "On its machine, start it with --backup-recipient age1… or --backup-passphrase-file FILE."}
		case now[fleet.SettingBackupTo].Value == "":
			return &fleet.Error{Code: fleet.CodeInvalid, Message: "backups have no folder yet",
				Hint: "Set the setting backupTo first."}
		}
	default:
		if isOfSignOn(name) {
			return a.checkSignOnSetting(now, name, value)
		}
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

// TestSetting tries a value of a setting without setting it, and returns for people what was found.
func (a *App) TestSetting(ctx context.Context, name fleet.SettingName, value string) (string, error) {
	setting, err := fleet.SettingNamed(string(name))
	if err != nil {
		return "", err
	}
	if !setting.Tests {
		return "", &fleet.Error{Code: fleet.CodeInvalid, Message: string(setting.Name) + " is a setting that is not tried",
			Hint: "Set it without a trial."}
	}
	value, err = setting.Parse(value)
	if err != nil {
		return "", err
	}
	if setting.Name == fleet.SettingOIDCIssuer {
		return a.tryProvider(ctx, value)
	}
	if a.policy.Of(setting.Name).Value != value { // A flag may name another place.
		if err := a.checkBackupPlace(value); err != nil {
			return "", err
		}
	}
	if err := a.tryBackupPlace(value); err != nil {
		return "", err
	}
	return "A file was written in " + value + ", read back and removed.", nil
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
