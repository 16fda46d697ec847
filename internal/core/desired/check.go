package desired

import (
	"errors"
	"fmt"
	"slices"

	"muster/internal/core/stconfig"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

// CheckMade refuses a template, before it is saved, if no daemon accepts the value that it makes. made is the
// template's result for a sample device. A program may give another result on a real device, so CheckMade refuses a
// program only for misplaced secrets.
func CheckMade(t fleet.Template, key stconfig.Key, made template.Result) error {
	if err := stconfig.CheckHandles(key, made.Value); err != nil {
		return err
	}
	if made.Language != template.HJSON {
		return nil
	}
	if err := checkPatterns(t, key, made.Value); err != nil {
		return err
	}
	return refused(stconfig.Mistakes(t.Op, key, made.Value),
		fleet.Error{Hint: "Mend the template: as it is, it would stop its devices."}, stconfig.RefusedValue)
}

// CheckStrictly is CheckMade for a change that is planned before it is saved, unless the caller allows what fails. It
// also refuses values whose JSON type is not that of the field, because no device with such a template would get a
// plan, and units that daemons read as bytes.
func CheckStrictly(t fleet.Template, key stconfig.Key, made template.Result) error {
	if err := CheckMade(t, key, made); err != nil || made.Language != template.HJSON {
		return err
	}
	return refused(stconfig.Mistakes(t.Op, key, made.Value),
		fleet.Error{Allowable: true, Hint: "Mend the template. `--allow-failing` (allowFailing) stores it as it is."},
		stconfig.WrongType, stconfig.WrongWord)
}

// ExplainText returns the error of a text that is no template, with the mistake that its author made: a text without
// quotes, such as `no` or `100 KiB`, at a key that takes something else than a text.
func ExplainText(t fleet.Template, key stconfig.Key, err error) error {
	var fault *fleet.Error
	bare, is := template.BareText(t.Text)
	if !is || !errors.As(err, &fault) || len(fault.Details) != 1 || key.Len() == 0 || t.Op == fleet.OpRemove {
		return err
	}
	for _, mistake := range stconfig.Mistakes(t.Op, key, stconfig.Text(bare)) {
		if mistake.Kind == stconfig.WrongType {
			explained := *fault
			explained.Message, explained.Details = mistake.Text, slices.Clone(fault.Details)
			explained.Details[0].Message = mistake.Text
			explained.Hint = "Write the value as the key takes it. A text stands in quotes."
			return &explained
		}
	}
	return err
}

// checkPatterns returns an error for the first ignore pattern that no daemon can read, with its line and column in the
// template's text.
func checkPatterns(t fleet.Template, key stconfig.Key, value stconfig.Value) error {
	if t.Op == fleet.OpRemove {
		return nil
	}
	for _, lines := range stconfig.IgnoreLinesIn(key, value) {
		if at, why := stconfig.CheckIgnores(lines, ""); at >= 0 {
			wrong := UnreadablePattern(lines[at], why)
			line, column := template.Locate(t.Text, lines[at])
			wrong.Details = []fleet.Detail{{Field: "template", Line: line, Column: column, Message: wrong.Message}}
			return wrong
		}
	}
	return nil
}

// refused completes an error with all mistakes of these kinds, and returns it; nil without such mistakes.
func refused(mistakes []stconfig.Mistake, e fleet.Error, kinds ...stconfig.MistakeKind) error {
	e.Code = fleet.CodeInvalid
	for _, d := range mistakes {
		if slices.Contains(kinds, d.Kind) {
			e.Details = append(e.Details, fleet.Detail{Field: "template", Message: d.Text})
		}
	}
	if len(e.Details) == 0 {
		return nil
	}
	e.Message = e.Details[0].Message
	return &e
}

// Warnings returns what the author of a template should look at: secrets in clear, and values that are most probably
// mistakes. A field that Muster does not know is no mistake when a daemon of the fleet has it (hasField).
func Warnings(t fleet.Template, key stconfig.Key, made template.Result, hasField func(stconfig.Key) bool) []string {
	warnings := ClearSecrets(key, made.Value)
	for _, d := range stconfig.Mistakes(t.Op, key, made.Value) {
		if d.Kind != stconfig.UnknownField || !hasField(d.Key) {
			warnings = append(warnings, d.Text)
		}
	}
	return warnings
}

// ClearSecrets returns one warning for each secret that stands in clear in a value.
func ClearSecrets(key stconfig.Key, value stconfig.Value) (warnings []string) {
	for _, at := range stconfig.SecretsIn(key, value) {
		warnings = append(warnings, fmt.Sprintf("%s is in clear in the template: keep it as a secret, and write "+
			`secret("name") or "${secret:name}"`, at))
	}
	return warnings
}

// Mistake is something in a template that is most probably a mistake.
type Mistake struct {
	Template fleet.Template
	Key      stconfig.Key
	Text     string // sentence for a person; it begins with the key
}

// String returns the mistake as a text that also names the template.
func (d Mistake) String() string { return named(d.Template) + ": " + d.Text }

// noteMistakes records the probable mistakes of a template. skips are the places that the application of the template
// left out. An unknown field is not a mistake if it was not skipped: this daemon's configuration has the field, so the
// daemon is newer than our table of fields.
func (f *fold) noteMistakes(t fleet.Template, all []stconfig.Mistake, skips []stconfig.Skip) {
	for _, d := range all {
		left := func(s stconfig.Skip) bool { return d.Key.HasPrefix(s.Key) || lastName(s.Key) == lastName(d.Key) }
		if d.Kind == stconfig.UnknownField && !slices.ContainsFunc(skips, left) {
			continue
		}
		f.mistakes = append(f.mistakes, Mistake{Template: t, Key: d.Key, Text: d.Text})
	}
}

func lastName(key stconfig.Key) string { return key.At(key.Len() - 1).Name }
