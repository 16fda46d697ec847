//go:build unix

package seal

import (
	"io/fs"
	"os"
	"syscall"
)

// ofAnother reports whether a file belongs to a user other than root and the user of this process. A process of root
// may use everybody's files.
func ofAnother(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	own := os.Geteuid()
	return ok && own != 0 && stat.Uid != 0 && int(stat.Uid) != own
}
