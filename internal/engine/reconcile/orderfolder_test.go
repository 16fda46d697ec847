package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// scanned is a summary on which an order may rely.
func scanned() fleet.FolderSummary {
	return fleet.FolderSummary{State: "idle", StateChanged: time.Unix(1, 0), Sequence: 9, GlobalFiles: 7, LocalFiles: 5,
		NeedFiles: 3, LocalChanges: 3}
}

// An override of a device that has not scanned the folder, or whose disk is away, deletes the files of all others. A
// revert relies on such figures as well.
func TestNoFilesAreChangedOnFiguresThatCannotBeReliedOn(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*fleet.FolderSummary)
		want  string // "": the order is carried out
		of    []fleet.OrderType
	}{
		"fine": {func(*fleet.FolderSummary) {}, "", fleet.FileOrderTypes},
		"not scanned yet": {func(s *fleet.FolderSummary) { s.StateChanged = time.Time{} }, "not scanned",
			fleet.FileOrderTypes},
		"scanning": {func(s *fleet.FolderSummary) { s.State = "scanning" }, "is busy: scanning", fleet.FileOrderTypes},
		"no state": {func(s *fleet.FolderSummary) { s.State = "" }, "is busy", fleet.FileOrderTypes},
		"the disk is away": {func(s *fleet.FolderSummary) { s.State, s.Error = "error", "folder marker missing" },
			"folder marker missing", fleet.FileOrderTypes},
		"an error alone": {func(s *fleet.FolderSummary) { s.Error = "folder path missing" }, "path missing",
			fleet.FileOrderTypes},
		"failed items": {func(s *fleet.FolderSummary) { s.Failed = 2 }, "2 items could not be synced", fleet.FileOrderTypes},
		"no index": {func(s *fleet.FolderSummary) { s.Sequence = 0 }, "is empty on the device",
			[]fleet.OrderType{fleet.OrderOverride}},
		"nothing here": {func(s *fleet.FolderSummary) { s.LocalFiles = 0 }, "is empty on the device",
			[]fleet.OrderType{fleet.OrderOverride}},
		"nothing here to revert": {func(s *fleet.FolderSummary) { s.Sequence, s.LocalFiles = 0, 0 }, "",
			[]fleet.OrderType{fleet.OrderRevert}},
	} {
		for _, kind := range test.of {
			t.Run(name+" "+string(kind), func(t *testing.T) {
				in(t, func(t *testing.T) {
					result, err := carryOutOnFiles(t, kind, 3, test.spoil)
					switch {
					case test.want == "" && (err != nil || !strings.Contains(result, "told to "+string(kind)+" 3 items")):
						t.Errorf("got %q, %v", result, err)
					case test.want != "" && (fleet.CodeOf(err) != fleet.CodeConflict ||
						!strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "was told nothing")):
						t.Errorf("got %q, %v, want %q", result, err, test.want)
					}
				})
			})
		}
	}
}

// carryOutOnFiles gives an order for a folder, and checks that a request went out only if the order succeeded.
func carryOutOnFiles(t *testing.T, kind fleet.OrderType, most int64, spoil func(*fleet.FolderSummary)) (string, error) {
	b := newBench(t)
	folderType := `"sendonly"`
	if kind == fleet.OrderRevert {
		folderType = `"receiveonly"`
	}
	b.daemon.edit("folders.docs", `{"id": "docs", "path": "/srv/docs", "type": `+folderType+`}`)
	b.daemon.summary = scanned()
	spoil(&b.daemon.summary)
	b.start()
	defer b.stop()
	result, err := b.engine.CarryOut(t.Context(), b.id, fleet.OrderSpec{Type: kind, Folder: "docs", MaxItems: most})
	told := 0
	for _, call := range b.daemon.written() {
		if strings.Contains(call, "/rest/db/") {
			told++
		}
	}
	if (told == 1) != (err == nil) || told > 1 {
		t.Errorf("the daemon was told %d times, with the error %v", told, err)
	}
	return result, err
}

// Nobody learned afterwards how many files the other devices lost.
func TestAnOverrideSaysHowManyItemsTheOthersLose(t *testing.T) {
	in(t, func(t *testing.T) {
		for _, test := range []struct {
			most  int64
			spoil func(*fleet.FolderSummary)
			want  string
		}{
			{3, func(*fleet.FolderSummary) {}, "lose at most 2 of them"},
			{2, func(*fleet.FolderSummary) {}, "lose at most 2 of them"},
			{4, func(s *fleet.FolderSummary) { s.LocalFiles, s.NeedDeletes = 6, 1 }, "lose at most 2 of them"},
			{3, func(s *fleet.FolderSummary) { s.LocalFiles = 7 }, "lose at most 0 of them"},
			{3, func(s *fleet.FolderSummary) { s.IgnorePatterns = true }, "lose is not known"},
		} {
			text, err := carryOutOnFiles(t, fleet.OrderOverride, test.most, test.spoil)
			if err != nil {
				text = err.Error()
			}
			if (err != nil) != (test.most == 2) || !strings.Contains(text, test.want) {
				t.Errorf("got %q, want %q", text, test.want)
			}
		}
	})
}
