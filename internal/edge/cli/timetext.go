package cli

import (
	"fmt"
	"time"

	"muster/internal/fleet"
)

// span is a duration that may be given in days or weeks.
type span time.Duration

// UnmarshalText reads "2d", "1w" and everything that Go takes for a duration.
func (s *span) UnmarshalText(text []byte) error {
	d, err := fleet.ParseDays(string(text))
	if err != nil {
		return fmt.Errorf("%q is no time: write 48h, 2d or 1w", text)
	}
	*s = span(d)
	return nil
}

// timeOf reads a time, a day in words, or how long ago it was.
func timeOf(flag, text string) (time.Time, error) {
	now := time.Now()
	midnight := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.Local)
	switch text {
	case "":
		return time.Time{}, nil
	case "now":
		return now, nil
	case "today":
		return midnight, nil
	case "yesterday":
		return midnight.AddDate(0, 0, -1), nil
	}
	if ago, err := fleet.ParseDays(text); err == nil && ago >= 0 {
		return now.Add(-ago), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return at, nil
		}
	}
	return time.Time{}, &fleet.Error{Code: fleet.CodeInvalid, Message: fmt.Sprintf("%s %q is no time", flag, text),
		Hint: "For example 2026-01-31, 2026-01-31T08:00:00Z, yesterday, or 36h, 2d or 1w for how long ago."}
}
