package httpapi

import (
	"path/filepath"

	"muster/api"
	"muster/internal/backup"
	"muster/internal/fleet"
)

// Backups are how the backups stand that the server makes by itself.
type Backups interface {
	Enabled() bool
	Status() backup.Status
}

func (s *server) wireBackup() *api.OverviewOfBackup {
	if s.Backups == nil || !s.Backups.Enabled() {
		return nil
	}
	status := s.Backups.Status()
	wire := &api.OverviewOfBackup{Trouble: fleet.Reason(status.Trouble)}
	if last := status.Last; !last.CreatedAt.IsZero() {
		wire.LastAt, wire.File, wire.Bytes = moment(last.CreatedAt), filepath.Base(last.Path), last.Bytes
	}
	return wire
}

// differing are the states of devices whose plans have something to do.
var differing = []fleet.Configuration{
	fleet.ConfigPending, fleet.ConfigApplying, fleet.ConfigHeld, fleet.ConfigContended, fleet.ConfigUnstable,
}

func wireRestored(restored *fleet.Restored, configurations map[string]int) *api.OverviewOfRestore {
	if restored == nil {
		return nil
	}
	wire := &api.OverviewOfRestore{BackupAt: api.Time{Time: restored.BackupAt}, At: api.Time{Time: restored.At},
		Unknown: configurations[string(fleet.ConfigUnknown)]}
	for _, state := range differing {
		wire.Differing += configurations[string(state)]
	}
	return wire
}
