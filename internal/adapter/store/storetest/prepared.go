// Package storetest is a test house: databases that have their tables already. To make the tables takes a second with
// the race detector, and most tests need a database of their own.
package storetest

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Prepared gives copies of a home. The function fill puts the files there once, when the first copy is asked for.
func Prepared(fill func(home string) error) func(testing.TB) string {
	source := sync.OnceValues(func() (map[string][]byte, error) { return filled(fill) })
	return func(tb testing.TB) string {
		tb.Helper()
		files, err := source()
		if err != nil {
			tb.Fatal(err)
		}
		home := tb.TempDir()
		for name, content := range files {
			if err := os.WriteFile(filepath.Join(home, name), content, 0o600); err != nil {
				tb.Fatal(err)
			}
		}
		return home
	}
}

func filled(fill func(home string) error) (_ map[string][]byte, err error) {
	home, err := os.MkdirTemp("", "home")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	if err := fill(home); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(home)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, e := range entries {
		if files[e.Name()], err = os.ReadFile(filepath.Join(home, e.Name())); err != nil {
			return nil, err
		}
	}
	return files, nil
}
