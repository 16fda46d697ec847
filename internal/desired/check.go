package desired

import (
	"fmt"

	"muster/internal/fleet"
	"muster/internal/stconfig"
	"muster/internal/template"
)

// CheckMade refuses what no daemon takes of what a template makes, before the template is saved: made is its result for
// a sample device. The result of a program may be another on a device, so it is only checked for misplaced secrets.
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
	return refused(stconfig.Doubts(t.Op, key, made.Value))
}

// checkPatterns refuses ignore patterns that no daemon can read, with their place in the template's text.
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

// refused is the error about values that no daemon takes; nil where there are none.
func refused(doubts []stconfig.Doubt) error {
	e := &fleet.Error{Code: fleet.CodeInvalid, Hint: "Mend the template: as it is, it would stop its devices."}
	for _, d := range doubts {
		if d.Kind == stconfig.RefusedValue {
			e.Details = append(e.Details, fleet.Detail{Field: "template", Message: d.Text})
		}
	}
	if len(e.Details) == 0 {
		return nil
	}
	e.Message = e.Details[0].Message
	return e
}

// Warnings are the secrets in clear in what a template makes, and the values about which there is a doubt.
func Warnings(t fleet.Template, key stconfig.Key, made template.Result) []string {
	warnings := ClearSecrets(key, made.Value)
	for _, d := range stconfig.Doubts(t.Op, key, made.Value) {
		warnings = append(warnings, d.Text)
	}
	return warnings
}

// ClearSecrets warns of the secrets that are in clear in a value at a key.
func ClearSecrets(key stconfig.Key, value stconfig.Value) (warnings []string) {
	for _, at := range stconfig.SecretsIn(key, value) {
		warnings = append(warnings, fmt.Sprintf("%s is in clear in the template: keep it as a secret, and write "+
			`secret("name") or "${secret:name}"`, at))
	}
	return warnings
}
