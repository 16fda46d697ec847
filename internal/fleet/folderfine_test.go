package fleet

import (
	"slices"
	"testing"
	"time"
)

// An error of a folder is blamed on a write only where the folder was without error before it.
func TestOnlyAFolderThatWasFineMayBreak(t *testing.T) {
	now := time.Now()
	summary := func(change func(*FolderSummary)) FolderSummary {
		s := FolderSummary{State: "idle", StateChanged: now, UpdatedAt: now}
		change(&s)
		return s
	}
	s := &Snapshot{Connection: Online, Since: now.Add(-time.Hour), Summaries: map[string]FolderSummary{
		"fine":      summary(func(*FolderSummary) {}),
		"paused":    summary(func(f *FolderSummary) { f.State, f.StateChanged = "", time.Time{} }),
		"stopped":   summary(func(f *FolderSummary) { f.State = FolderInError }),
		"erring":    summary(func(f *FolderSummary) { f.Error = "no space" }),
		"old":       summary(func(f *FolderSummary) { f.UpdatedAt = now.Add(-2 * time.Hour) }),
		"unscanned": summary(func(f *FolderSummary) { f.StateChanged = time.Time{} }),
	}}
	for _, folder := range []string{"fine", "paused", "stopped", "erring", "old", "unscanned", "unread"} {
		s.Folders = append(s.Folders, FolderLabel{Folder: folder})
		want := folder == "fine" || folder == "paused"
		if got := s.FolderMayBreak(folder); got != want {
			t.Errorf("%s may break: %v", folder, got)
		}
	}
	if !s.FolderMayBreak("new") {
		t.Error("a folder that a write makes may not break")
	}
	if got := s.FoldersNotFine(); !slices.Equal(got, []string{"erring", "old", "stopped", "unread", "unscanned"}) {
		t.Errorf("not fine are %v", got)
	}
	s.Connection = Unreachable
	if got := s.FoldersNotFine(); !slices.Equal(got, []string{"erring", "stopped", "unread"}) {
		t.Errorf("as last known, not fine are %v", got)
	}
	if s.FolderMayBreak("fine") {
		t.Error("a folder of which only the past is known may break")
	}
}
