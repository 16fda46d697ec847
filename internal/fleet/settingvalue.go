package fleet

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// zeroDuration is the canonical text of the duration 0.
const zeroDuration = "0s"

const (
	maxFolderPath = 4096 // bytes
	maxLine       = 4096 // bytes
)

var troubleKinds = func() (kinds []string) {
	for _, cause := range TroubleCauses {
		kinds = append(kinds, string(cause))
	}
	return kinds
}()

// Parse returns the canonical form of a value that an administrator sets. Its error names the setting and says what is
// allowed.
func (s Setting) Parse(text string) (string, error) {
	value, err := s.parse(text, s.Least)
	if err != nil {
		return "", Invalidf("value", "%s: %s", s.Name, Reason(err))
	}
	return value, nil
}

// ParseFlag is Parse for the value of the flag, whose limit may be lower.
func (s Setting) ParseFlag(text string) (string, error) {
	least := s.Least
	if s.FlagLeast != "" {
		least = s.FlagLeast
	}
	value, err := s.parse(text, least)
	if err != nil {
		return "", &Error{Code: CodeInvalid, Message: "--" + s.Flag + ": " + Reason(err),
			Hint: "Correct it, or leave it out: then the setting " + string(s.Name) + " holds."}
	}
	return value, nil
}

func (s Setting) parse(text, least string) (value string, err error) {
	text = strings.TrimSpace(text)
	switch s.Kind {
	case SettingDuration:
		value, err = s.parseDuration(text, least)
	case SettingNumber:
		value, err = s.parseNumber(text, least)
	case SettingSwitch:
		value, err = parseSwitch(text)
	case SettingChoices:
		value, err = s.parseChoices(text)
	case SettingText, SettingSecret:
		if s.Several {
			text = strings.Join(strings.Fields(text), " ")
		}
		value, err = parseLine(text)
	case SettingFolder:
		value, err = parseFolder(text)
	case SettingChoice:
		value, err = text, nil
		if !slices.Contains(s.Choices, text) {
			err = wrongValue("%q is unknown: give one of %s", text, strings.Join(s.Choices, ", "))
		}
	case SettingTags:
		value, err = parseTags(text)
	case SettingCopies:
		value, err = parseCopies(text)
	case SettingStale:
		value, err = parseStale(text)
	case SettingThreshold:
		var threshold Threshold
		threshold, err = ParseThreshold(text)
		value = threshold.String()
	case SettingWaves:
		var waves []string
		waves, err = ParseWaves(text)
		value = strings.Join(waves, ",")
	}
	return value, err
}

// wrongValue is the error about a value. Reason gives its text.
func wrongValue(format string, args ...any) error {
	return &Error{Code: CodeInvalid, Message: fmt.Sprintf(format, args...)}
}

func (s Setting) parseDuration(text, least string) (string, error) {
	d, err := ParseDays(text)
	switch {
	case err != nil:
		return "", wrongValue("%q is no duration: give one like 30s, 10m, 24h or 90d", text)
	case d == 0 && s.Zero != "":
	case d < durationOf(least) || d > durationOf(s.Most):
		return "", wrongValue("%s is out of range: give %s to %s%s", text, least, s.Most, s.orZero())
	}
	return DurationText(d), nil
}

func (s Setting) orZero() string {
	if s.Zero == "" {
		return ""
	}
	return ", or 0 " + s.Zero
}

func (s Setting) parseNumber(text, least string) (string, error) {
	n, err := strconv.Atoi(text)
	if err != nil {
		return "", wrongValue("%q is no whole number", text)
	}
	if n < numberOf(least) || n > numberOf(s.Most) {
		return "", wrongValue("%d is out of range: give %s to %s", n, least, s.Most)
	}
	return strconv.Itoa(n), nil
}

func parseSwitch(text string) (string, error) {
	on, err := strconv.ParseBool(strings.ToLower(text))
	if err != nil {
		return "", wrongValue("%q is neither true nor false", text)
	}
	return strconv.FormatBool(on), nil
}

func parseLine(text string) (string, error) {
	if len(text) > maxLine || strings.ContainsFunc(text, HiddenInLine) || !utf8.ValidString(text) {
		return "", wrongValue("it is not one line of at most %d bytes without invisible characters", maxLine)
	}
	return text, nil
}

func parseFolder(text string) (string, error) {
	if text == "" || text == "none" {
		return "", nil
	}
	if !filepath.IsAbs(text) || len(text) > maxFolderPath || strings.ContainsFunc(text, HiddenInLine) {
		return "", wrongValue("%q is not the whole path of a folder, as /var/backups/muster", text)
	}
	return filepath.Clean(text), nil
}

func (s Setting) parseChoices(text string) (string, error) {
	var chosen []string
	for _, one := range strings.Split(text, ",") {
		one = strings.TrimSpace(one)
		if one == "" || one == "none" {
			continue
		}
		if !slices.Contains(s.Choices, one) {
			return "", wrongValue("%q is unknown: give some of %s", one, strings.Join(s.Choices, ", "))
		}
		chosen = append(chosen, one)
	}
	slices.Sort(chosen)
	return strings.Join(slices.Compact(chosen), ","), nil
}

func parseTags(text string) (string, error) {
	var tags []string
	for one := range strings.SplitSeq(text, ",") {
		if one = strings.TrimSpace(one); one == "" {
			continue
		}
		tag, err := ParseTag(one)
		if err != nil {
			return "", err
		}
		tags = append(tags, string(tag))
	}
	slices.Sort(tags)
	return parseLine(strings.Join(slices.Compact(tags), ","))
}

// ParseDays reads a duration as Go writes it, or a whole number of days or weeks like "90d" and "2w".
func ParseDays(text string) (time.Duration, error) {
	const most, week = 36500, 7
	number, inDays := strings.CutSuffix(text, "d")
	unit := 1
	if !inDays {
		var inWeeks bool
		if number, inWeeks = strings.CutSuffix(text, "w"); !inWeeks {
			return time.ParseDuration(text)
		}
		unit = week
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n > most/unit {
		return 0, errors.New("no number of days")
	}
	return time.Duration(n*unit) * 24 * time.Hour, nil
}

// DurationText returns a duration without units that are zero: "8760h" and not "8760h0m0s".
func DurationText(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// durationOf reads a canonical text. A text of the table or of Parse is never wrong.
func durationOf(text string) time.Duration {
	d, _ := time.ParseDuration(text)
	return d
}

func numberOf(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// Duration returns the value of a setting that is a duration.
func (s SettingState) Duration() time.Duration { return durationOf(s.Value) }

// Number returns the value of a setting that is a number.
func (s SettingState) Number() int { return numberOf(s.Value) }

// On returns the value of a setting that is a switch.
func (s SettingState) On() bool { return s.Value == "true" }

// List returns the value of a setting that is a list.
func (s SettingState) List() []string {
	if s.Value == "" {
		return nil
	}
	return strings.Split(s.Value, ",")
}

// Threshold returns the value of a setting that is a threshold.
func (s SettingState) Threshold() Threshold {
	threshold, _ := ParseThreshold(s.Value)
	return threshold
}

// Shrinks reports whether a value keeps less than the present one, so that something is deleted for good.
func (s Setting) Shrinks(from, to string) bool {
	switch {
	case s.Deletes == "" || to == from:
		return false
	case s.Kind == SettingNumber:
		return numberOf(to) < numberOf(from)
	case s.Zero != "" && to == zeroDuration:
		return false
	case s.Zero != "" && from == zeroDuration:
		return true
	}
	return durationOf(to) < durationOf(from)
}
