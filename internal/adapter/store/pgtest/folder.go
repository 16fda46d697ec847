package pgtest

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// folderPrefix is short: a socket's path has at most 107 bytes.
const folderPrefix = "musterpg"

// leftAfter is how long a folder stays for its process to lock it.
const leftAfter = time.Minute

// newFolder makes a folder in the folder parent, "" for the usual place of temporary files, and locks it. A test
// process that is killed leaves its folder behind. newFolder removes such folders, which no process has locked: they
// would fill the memory.
func newFolder(parent string) (dir string, lock *os.File, err error) {
	if parent == "" {
		parent = os.TempDir()
	}
	if err := removeLeft(parent); err != nil {
		return "", nil, err
	}
	if dir, err = os.MkdirTemp(parent, folderPrefix); err != nil {
		return "", nil, err
	}
	if lock, err = lockFolder(dir); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, lock, nil
}

func removeLeft(parent string) error {
	left, err := filepath.Glob(filepath.Join(parent, folderPrefix+"*"))
	for _, dir := range left {
		info, gone := os.Stat(dir)
		if gone != nil || time.Since(info.ModTime()) < leftAfter {
			continue
		}
		lock, used := lockFolder(dir)
		if used != nil {
			continue
		}
		err = errors.Join(err, os.RemoveAll(dir), lock.Close())
	}
	return err
}

// lockFolder locks a folder until the file is closed or the process ends. It fails if another process has the lock.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
