package pgtest

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A test run that was killed left its clusters in memory, until there was no room for others.
func TestFoldersOfProcessesThatAreGoneAreRemoved(t *testing.T) {
	parent := t.TempDir()
	long := time.Now().Add(-time.Hour)
	killed, lock, err := newFolder(parent)
	if err != nil {
		t.Fatal(err)
	}
	used, lockOfUsed, err := newFolder(parent)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lockOfUsed.Close() }()
	for _, dir := range []string{killed, used} {
		if err := os.WriteFile(filepath.Join(dir, "data"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(dir, long, long); err != nil {
			t.Fatal(err)
		}
	}
	if err := lock.Close(); err != nil { // as the end of the process does
		t.Fatal(err)
	}
	_, next, err := newFolder(parent)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = next.Close() }()
	if _, err := os.Stat(killed); !os.IsNotExist(err) {
		t.Errorf("the folder of a process that is gone is there: %v", err)
	}
	if _, err := os.Stat(used); err != nil {
		t.Errorf("the folder of a running process: %v", err)
	}
}
