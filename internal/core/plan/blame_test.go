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

// TestTheDaemonsNoticesAreNotBlamed covers a template that dismisses the notice about a missing password in the write
// that takes the password away: the daemon adds the notice.
func TestTheDaemonsNoticesAreNotBlamed(t *testing.T) {
	key := func(text string) stconfig.Key {
		k, err := stconfig.ParseKey(text)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	notices := Change{Key: key("options.unackedNotificationIDs"), Class: Free, send: stconfig.List()}
	user := Change{Key: key("gui.user"), Class: Free, send: stconfig.Text("")}
	for name, c := range map[string]struct {
		sent Plan
		want bool
	}{
		"with the user": {Plan{Changes: []Change{notices, user}}, false},
		"alone":         {Plan{Changes: []Change{notices}}, true},
	} {
		stops, stopped := NewStops(), false
		for range unmovedAfter {
			stopped = stops.CountUnmoved(c.sent, Plan{Changes: []Change{notices}}, []stconfig.Key{notices.Key}, time.Now())
		}
		if stopped != c.want {
			t.Errorf("%s: stopped is %t", name, stopped)
		}
	}
}
