package backup

import (
	"path/filepath"
	"testing"
)

func TestABackupTellsHowFarItIs(t *testing.T) {
	lock, _ := withKey(t)
	source, rows := sourceFor(lock), len(rowsOf())
	var told []Progress
	source.Tell = func(p Progress) { told = append(told, p) }
	if _, err := Create(filepath.Join(t.TempDir(), "a.backup"), source); err != nil {
		t.Fatal(err)
	}
	last := told[len(told)-1]
	if told[0] != (Progress{Step: StepWrite}) || last.Step != StepRead || last.Of < rows || last.Rows != last.Of {
		t.Errorf("got %v for %d rows", told, rows)
	}
}
