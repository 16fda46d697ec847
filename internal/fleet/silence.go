package fleet

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Silence keeps Muster from telling anybody of some problems until it ends.
type Silence struct {
	ID     string    `json:"-"`
	Match  Match     `json:"match"`
	Until  time.Time `json:"until"`
	Reason string    `json:"reason,omitempty"`
	By     string    `json:"-"` // person or token that made it
	At     time.Time `json:"-"`
}

// MaxSilence is how long a silence lasts at most.
const MaxSilence = 90 * 24 * time.Hour

const maxSilenceReason = 500 // characters

// SilenceSetting returns the name of the setting that stores a silence.
func SilenceSetting(id string) SettingName { return silencePrefix + SettingName(id) }

// Validate checks a silence that begins now. One that fits everything is refused, since it would hide what nobody
// thought of.
func (s Silence) Validate(now time.Time) error {
	if err := s.Match.validate(); err != nil {
		return err
	}
	switch {
	case s.Match.IsZero():
		return &Error{Code: CodeInvalid, Message: "a silence says of what: tags, kinds, severities, folders or devices",
			Hint: "Name at least one."}
	case s.Match.hasAllWords():
		return &Error{Code: CodeInvalid, Message: "a silence of all severities or all kinds fits everything",
			Hint: "Leave some out, or name tags, folders or devices."}
	case !s.Until.After(now):
		return Invalidf("until", "a silence ends in the future")
	case s.Until.Sub(now) > MaxSilence:
		return Invalidf("until", "a silence lasts at most %d days", int(MaxSilence.Hours()/24))
	case utf8.RuneCountInString(s.Reason) > maxSilenceReason || !utf8.ValidString(s.Reason):
		return Invalidf("reason", "a reason has at most %d characters", maxSilenceReason)
	}
	return nil
}

// Stored returns the value of the setting that stores the silence.
func (s Silence) Stored() (string, error) { return storedText(s) }

// Shown returns what the audit has of the silence.
func (s Silence) Shown() string {
	shown := s.Match.String() + " until " + s.Until.UTC().Format(time.RFC3339)
	if s.Reason != "" {
		shown += ": " + s.Reason
	}
	return shown
}

// EndedSilences returns the names of the stored silences that have ended. In doubt it returns none.
func EndedSilences(stored StoredSettings, now time.Time) (ended []SettingName) {
	if stored.Doubted {
		return nil
	}
	going := TellingOf(stored, now).Silences
	for setting := range stored.ByName {
		id, isSilence := strings.CutPrefix(string(setting), silencePrefix)
		if isSilence && !slices.ContainsFunc(going, func(s Silence) bool { return s.ID == id }) {
			ended = append(ended, setting)
		}
	}
	return ended
}
