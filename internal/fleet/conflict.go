package fleet

import (
	"strings"
	"time"
)

// Conflict is a conflict file: a daemon renamed a file because two devices had changed it at the same time. It is
// synced like any other file, so all devices of the folder have it.
type Conflict struct {
	Path string
	At   time.Time // time at which the daemon found it, by the daemon's clock
}

// Size returns how many bytes of memory the conflict needs.
func (c Conflict) Size() int { return 40 + len(c.Path) }

// ConflictsOn describes the conflicts of a folder that one device reports.
type ConflictsOn struct {
	Files   int  // conflict files whose paths are known
	More    bool // there are more files than those
	Newest  Conflict
	Counted int64 // conflicts that the daemon has counted since its start; 0 also when it does not count them
}

// ConflictsOn returns the conflicts of a folder of the device.
func (s *Snapshot) ConflictsOn(folder string) ConflictsOn {
	files := s.Conflicts[folder]
	on := ConflictsOn{Files: len(files), More: s.ConflictsLeftOut[folder] > 0, Counted: s.ConflictsCounted[folder]}
	if len(files) > 0 {
		on.Newest = files[0]
	}
	return on
}

// ConflictChange says that a conflict file appeared or disappeared.
type ConflictChange struct {
	Folder string
	Conflict
	Gone bool
}

const conflictMark = ".sync-conflict-"

// IsConflict reports whether a path is that of a conflict file: NAME.sync-conflict-DATE-TIME-SHORTID.EXT.
func IsConflict(path string) bool {
	name := path[strings.LastIndexAny(path, `/\`)+1:]
	return strings.Contains(name, conflictMark) && !strings.HasPrefix(path, ".stversions")
}
