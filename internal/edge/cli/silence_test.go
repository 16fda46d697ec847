package cli

import (
	"testing"
	"time"
)

func TestWhenASilenceEndsIsReadAsPeopleWriteIt(t *testing.T) {
	berlin := time.FixedZone("CET", 3600)
	now := time.Date(2026, 11, 29, 17, 30, 0, 0, berlin)
	for text, want := range map[moment]string{
		"18:00":                "2026-11-29T17:00:00Z",
		"17:30":                "2026-11-30T16:30:00Z",
		"07:00":                "2026-11-30T06:00:00Z",
		"2h":                   "2026-11-29T18:30:00Z",
		"3d":                   "2026-12-02T16:30:00Z",
		"2026-12-24T18:00:00Z": "2026-12-24T18:00:00Z",
	} {
		got, err := text.after(now)
		if err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%s: got %s, %v, want %s", text, got.UTC(), err, want)
		}
	}
	for _, text := range []moment{"", "soon", "25:00", "2026-12-24", "-2h"} {
		if got, err := text.after(now); err == nil {
			t.Errorf("%q is read as %s", text, got)
		}
	}
}
