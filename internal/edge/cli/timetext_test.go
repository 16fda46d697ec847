package cli

import (
	"testing"
	"time"
)

// "1d", "1w" and "yesterday" were no times.
func TestTimesAreGivenInWordsDaysAndWeeks(t *testing.T) {
	now := time.Now()
	for text, ago := range map[string]time.Duration{"36h": 36 * time.Hour, "1d": 24 * time.Hour, "now": 0,
		"2w": 14 * 24 * time.Hour} {
		at, err := timeOf("--since", text)
		if err != nil || at.Before(now.Add(-ago)) || at.After(time.Now().Add(-ago)) {
			t.Errorf("%s: got %v, %v", text, at, err)
		}
	}
	today, err := timeOf("--since", "today")
	yesterday, err2 := timeOf("--since", "yesterday")
	if err != nil || err2 != nil || !yesterday.AddDate(0, 0, 1).Equal(today) || today.After(time.Now()) {
		t.Errorf("got %v and %v, %v, %v", today, yesterday, err, err2)
	}
	for _, wrong := range []string{"1m1", "-1h", "tomorrow", "999999w"} {
		if at, err := timeOf("--since", wrong); err == nil {
			t.Errorf("%s: got %v", wrong, at)
		}
	}
	var short span
	var life lifetime
	if short.UnmarshalText([]byte("1w")) != nil || time.Duration(short) != 7*24*time.Hour ||
		life.UnmarshalText([]byte("2w")) != nil || time.Duration(life) != 14*24*time.Hour ||
		life.UnmarshalText([]byte("9999w")) == nil {
		t.Errorf("got %v and %v", short, life)
	}
}
