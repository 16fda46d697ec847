package plan

import (
	"slices"
	"testing"
	"time"

	"muster/internal/core/stconfig"
)

func TestAFolderThatWasInErrorBeforeTheWriteIsNotBlamedOnIt(t *testing.T) {
	now, stops := time.Now(), NewStops()
	var keys []stconfig.Key
	for _, folder := range []string{"fine", "broken"} {
		keys = append(keys, stconfig.Key{}.Child("folders").Child(folder).Child("label"))
	}
	mayBreak := func(folder string) bool { return folder == "fine" }
	stops.WritesFolders(keys, mayBreak, now)
	never := func(string, time.Time) bool { return false }
	stops.JudgeFolders(map[string]string{"fine": "no marker", "broken": "no marker"}, never, now.Add(time.Second))
	if got := stops.Unmended(Plan{}); len(got) != 1 || faultyFolder(got[0]) != "fine" {
		t.Errorf("blamed are %+v", got)
	}
	var record Record
	record.NoteFolders([]Write{{Keys: keys}, {Keys: keys}}, mayBreak)
	if !slices.Equal(record.MayBreak, []string{"fine"}) {
		t.Errorf("the record has %v", record.MayBreak)
	}
}
