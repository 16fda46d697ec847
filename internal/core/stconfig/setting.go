package stconfig

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"muster/internal/fleet"
)

// Setting is a field of the configuration that one can set by itself: a flag, a number, a text or a list of texts.
// Secrets, identities and what daemons keep for themselves are no settings.
type Setting struct {
	Key     string // `*` means every folder or device
	Type    SettingType
	Choices []string // all values of a text; none: every text
	Default Value    // the value with which a current daemon starts
	Help    string   // sentence for a person

	shape *shape
}

// SettingType is what a setting takes.
type SettingType string

const (
	FlagSetting   SettingType = "flag" // true or false
	NumberSetting SettingType = "number"
	TextSetting   SettingType = "text"
	TextsSetting  SettingType = "texts"
)

// settingLines has a line "KEY | DEFAULT | HELP" for each setting. A field without a line is no setting.
//
//go:embed settings.txt
var settingLines string

// Settings returns all settings in the order of their keys. A setting of folders or devices comes again below
// `defaults`, which has what new ones begin with.
func Settings() []Setting { return slices.Clone(allSettings()) }

var allSettings = sync.OnceValue(func() (all []Setting) {
	for line := range strings.Lines(settingLines) {
		parts := strings.SplitN(strings.TrimSpace(line), " | ", 3)
		s := settingOf(parts[0], parts[1], parts[2])
		all = append(all, s)
		for section, initial := range map[string]string{"folders.*.": "defaults.folder.", "devices.*.": "defaults.device."} {
			if field, found := strings.CutPrefix(s.Key, section); found {
				all = append(all, settingOf(initial+field, parts[1], "What new ones begin with. "+s.Help))
			}
		}
	}
	slices.SortFunc(all, func(a, b Setting) int { return strings.Compare(a.Key, b.Key) })
	return all
})

func settingOf(text, initial, help string) Setting {
	key, err := ParseKey(text)
	shape := shapeAt(key)
	if err != nil || shape == nil {
		panic("settings.txt has no such field: " + text) // The data is part of the binary, and tests read it.
	}
	kind := map[Kind]SettingType{Bool: FlagSetting, Number: NumberSetting, String: TextSetting, Array: TextsSetting}
	return Setting{Key: key.String(), Type: kind[shape.kind], Choices: shape.choices, Default: mustParse([]byte(initial)),
		Help: help, shape: shape}
}

// SettingAt returns the setting that a key names, and the key in the daemon's spelling. The key may name one folder or
// device, or every one with `*`.
func SettingAt(text string) (Setting, Key, error) {
	key, err := ParseKey(text)
	if err != nil {
		return Setting{}, key, err
	}
	pattern := key
	if key.Len() > 2 && slices.Contains([]string{"folders", "devices"}, key.At(0).Name) {
		pattern = key.WithEvery(1)
	}
	all := allSettings()
	i := slices.IndexFunc(all, func(s Setting) bool { return s.Key == pattern.String() })
	if i >= 0 {
		return all[i], key, nil
	}
	if s := shapeAt(key); s != nil && s.secret {
		return Setting{}, key, fleet.Invalidf("key", "%s is a secret, which this does not set", key)
	}
	message := fmt.Sprintf("%s is no setting that Muster knows", key)
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Key
	}
	if near := didYouMean(pattern.String(), names); near != "" {
		message += ": " + near
	}
	return Setting{}, key, fleet.Invalidf("key", "%s", message)
}

// HelpOf returns what a setting is for, as a sentence for a person; "" for a key that is no setting.
func HelpOf(key Key) string {
	setting, _, err := SettingAt(key.String())
	if err != nil {
		return ""
	}
	return setting.Help
}

// DefaultTexts returns the default as a person would type it: one text, or any number of texts.
func (s Setting) DefaultTexts() []string {
	if s.Type != TextsSetting {
		return []string{s.Default.Str()}
	}
	texts := []string{}
	for member := range s.Default.Values() {
		texts = append(texts, member.Str())
	}
	return texts
}

var (
	wholeNumber   = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,18})$`)
	decimalNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]{0,14})(\.[0-9]{1,6})?$`)
)

// Value reads what a person typed as a value of the setting. Errors are about the field "value".
func (s Setting) Value(typed []string) (Value, error) {
	if s.Type == TextsSetting {
		members := make([]Value, len(typed))
		for i, text := range typed {
			members[i] = Text(text)
		}
		return List(members...), nil
	}
	if len(typed) != 1 {
		return Value{}, fleet.Invalidf("value", "%s takes one value, not %d", s.Key, len(typed))
	}
	switch text := typed[0]; s.Type {
	case FlagSetting:
		if text != "true" && text != "false" {
			return Value{}, fleet.Invalidf("value", "%s is true or false, not %q", s.Key, text)
		}
		return Boolean(text == "true"), nil
	case NumberSetting:
		return s.number(text)
	default:
		if len(s.Choices) > 0 && !slices.Contains(s.Choices, text) {
			return Value{}, fleet.Invalidf("value", "%s is one of %s, not %q", s.Key, quotedChoices(s.Choices), text)
		}
		return Text(text), nil
	}
}

func (s Setting) number(text string) (Value, error) {
	switch {
	case s.shape.whole && !wholeNumber.MatchString(text):
		return Value{}, fleet.Invalidf("value", "%s is a whole number, as in %s, not %q", s.Key, s.Default.Str(), text)
	case !decimalNumber.MatchString(text) && !wholeNumber.MatchString(text):
		return Value{}, fleet.Invalidf("value", "%s is a number, as in %s, not %q", s.Key, s.Default.Str(), text)
	case tooLarge(text, s.shape.most):
		return Value{}, fleet.Invalidf("value", "%s is too large a number for %s", text, s.Key)
	}
	return Literal(text), nil
}

func quotedChoices(choices []string) string {
	var quoted []string
	for _, choice := range choices {
		if choice != "" {
			quoted = append(quoted, choice)
		}
	}
	return strings.Join(quoted, ", ")
}
