package mirror

import "muster/internal/fleet"

// The words of this room; see fleet.
type (
	Snapshot = fleet.Snapshot
	Aspect   = fleet.Aspect
)

const (
	ConnectionChanged = fleet.ConnectionChanged
	StatusChanged     = fleet.StatusChanged
	FoldersChanged    = fleet.FoldersChanged
	ConfigChanged     = fleet.ConfigChanged
)
