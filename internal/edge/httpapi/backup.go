package httpapi

import (
	"path/filepath"

	"muster/api"
	"muster/internal/engine/backup"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// Backups returns the state of the scheduled backups.
type Backups interface {
	Enabled() bool
	Status() backup.Status
}

func wireBackup(backups Backups) *api.OverviewOfBackup {
	if backups == nil || !backups.Enabled() {
		return nil
	}
	status := backups.Status()
	wire := &api.OverviewOfBackup{Trouble: fleet.Reason(status.Trouble)}
	if last := status.Last; !last.CreatedAt.IsZero() {
		wire.LastAt, wire.File, wire.Bytes = moment(last.CreatedAt), filepath.Base(last.Path), last.Bytes
	}
	return wire
}

func wireRestored(restored *fleet.Restored, made view.Overview) *api.OverviewOfRestore {
	if restored == nil {
		return nil
	}
	return &api.OverviewOfRestore{BackupAt: api.Time{Time: restored.BackupAt}, At: api.Time{Time: restored.At},
		Unknown: made.Configurations[fleet.ConfigUnknown], Differing: made.Differing}
}
