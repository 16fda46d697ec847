//go:build unix

package seal

import (
	"io/fs"
	"os"
	"syscall"
)

// ofAnother tells whether a user other than this process's and root owns a file. Root may use anybody's.
func ofAnother(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	own := os.Geteuid()
	return ok && own != 0 && stat.Uid != 0 && int(stat.Uid) != own
}
