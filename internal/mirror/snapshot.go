package mirror

import "muster/internal/fleet"

// Snapshot is what is known of one device at one moment; see fleet.
type Snapshot = fleet.Snapshot

// Aspect says what of a snapshot changed. Values are or-ed together.
type Aspect uint8

const (
	ConnectionChanged Aspect = 1 << iota // state, reason or address
	StatusChanged                        // status or version were read
	FoldersChanged                       // a summary
	ConfigChanged                        // another digest
)
