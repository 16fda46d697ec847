package fleet

import (
	"strings"
	"time"
)

// Conflict is a conflict file: a daemon renamed a file because two devices had changed it at the same time. It is
// synced like any other file, so all devices of the folder have it.
type Conflict struct {
	Path string
	At   time.Time // when the daemon found it, by the daemon's clock
}

// Size returns how many bytes of memory the conflict needs.
func (c Conflict) Size() int { return 40 + len(c.Path) }

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
