//go:build unix

package cli

import (
	"fmt"
	"os"
	"os/user"
	"syscall"
)

// ownerOf is the name of the user that a folder belongs to.
func ownerOf(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", fmt.Errorf("find the owner of %s", path)
	}
	owner, err := user.LookupId(fmt.Sprint(stat.Uid))
	if err != nil {
		return "", fmt.Errorf("find the owner of %s: %w", path, err)
	}
	return owner.Username, nil
}

// ownOnly has what this process makes be for its own user only.
func ownOnly() { syscall.Umask(0o077) }
