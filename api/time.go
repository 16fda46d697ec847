package api

import "time"

const timeForm = "2006-01-02T15:04:05.000Z"

// Time is a moment on the wire: RFC 3339, always UTC, always three digits of a second: "2026-11-20T21:11:55.670Z".
type Time struct{ time.Time }

// MarshalText writes that form.
func (t Time) MarshalText() ([]byte, error) { return t.UTC().AppendFormat(nil, timeForm), nil }

// MarshalJSON writes that form. Without it the method of time.Time would be used, which drops trailing zeros.
func (t Time) MarshalJSON() ([]byte, error) { return t.UTC().AppendFormat(nil, `"`+timeForm+`"`), nil }

// String is that form, too.
func (t Time) String() string { return t.UTC().Format(timeForm) }

// UnmarshalText reads any RFC 3339 form.
func (t *Time) UnmarshalText(text []byte) (err error) {
	t.Time, err = time.Parse(time.RFC3339Nano, string(text))
	return err
}
