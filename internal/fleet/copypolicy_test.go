package fleet

import (
	"strings"
	"testing"
	"time"
)

func TestPoliciesOfCopiesAreReadAndWritten(t *testing.T) {
	setting := settingNamed(SettingCopyPolicies)
	for text, want := range map[string]string{
		"":         "",
		"photos=2": "folder:photos=2 within 15m",
		" photos = 3 by 7:05 ; tag:team=2 across site:* within 1h;": "folder:photos=3 within 15m by 07:05; " +
			"tag:team=2 across site:* within 1h",
		"folder:tag:x=2":       "folder:tag:x=2 within 15m",
		"a=b=2 within 2d":      "folder:a=b=2 within 48h",
		"folder:a b=2 by 0:00": "folder:a b=2 within 15m by 00:00",
	} {
		got, err := setting.Parse(text)
		if err != nil || got != want {
			t.Errorf("%q: got %q, %v, want %q", text, got, err, want)
			continue
		}
		if again, err := setting.Parse(got); err != nil || again != got {
			t.Errorf("%q is read as %q, %v", got, again, err)
		}
	}
	for text, part := range map[string]string{
		"photos": "is no policy", "photos=": "is no policy", "photos=2 within": "is no policy", "=2": "names no folder",
		"photos=1": "2 to 100", "photos=many": "2 to 100", "photos=2 within 1m": "5m to 720h", "photos=2 by noon": "07:00",
		"photos=2 across *": "site:*", "photos=2 where x": "across, within and by", "tag:=2": "tag",
		strings.Repeat("a=2;", 51): "at most 50",
	} {
		if _, err := setting.Parse(text); err == nil || !strings.Contains(Reason(err), part) {
			t.Errorf("%.40q: %v, want %q", text, err, part)
		}
	}
}

func TestCopiesAcrossTagsCountOnceForEachTag(t *testing.T) {
	tags := map[DeviceID][]Tag{"a": {"site:berlin", "x"}, "b": {"site:berlin"}, "c": {"site:paris"}, "d": {"y"}}
	of := func(id DeviceID) []Tag { return tags[id] }
	for across, want := range map[string]int{"": 4, "site:*": 2, "site:paris": 1, "site:rome": 0} {
		if got := (CopyPolicy{Across: across}).Counts([]DeviceID{"a", "b", "c", "d"}, of); got != want {
			t.Errorf("%q: got %d, want %d", across, got, want)
		}
	}
}

func TestAProofIsLateAfterItsTimeOrAtATimeOfTheDay(t *testing.T) {
	p := CopyPolicy{Within: time.Hour, By: "07:00"}
	at := func(hour, minute int) time.Time { return time.Date(2026, 11, 28, hour, minute, 0, 0, time.UTC) }
	for name, test := range map[string]struct {
		since, now time.Time
		want       bool
	}{
		"new":                 {at(6, 30), at(6, 59), false},
		"new at seven":        {at(6, 59), at(7, 0), true},
		"begun after seven":   {at(7, 1), at(7, 30), false},
		"old":                 {at(5, 0), at(6, 0), true},
		"of the evening":      {at(20, 0), at(20, 30), false},
		"begun just at seven": {at(7, 0), at(7, 1), false},
	} {
		if got := p.IsLate(test.since, test.now); got != test.want {
			t.Errorf("%s: got %t", name, got)
		}
	}
}
