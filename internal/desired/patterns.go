package desired

import (
	"fmt"
	"slices"
	"strings"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// readable refuses ignore patterns that the daemon cannot read: they would stop the folder. A program that passes on
// what the daemon has already is not at fault for that.
func (f *fold) readable(op fleet.Op, key stconfig.Key, fragment Fragment) error {
	if op == fleet.OpRemove {
		return nil
	}
	for _, lines := range stconfig.IgnoreLinesIn(key, fragment.Value) {
		if fragment.ReadsConfig {
			lines = slices.DeleteFunc(lines, f.hasIgnoreLine)
		}
		if at, why := stconfig.CheckIgnores(lines, f.OS); at >= 0 {
			return UnreadablePattern(lines[at], why)
		}
	}
	return nil
}

// hasIgnoreLine tells whether some folder of the daemon has this line now.
func (f *fold) hasIgnoreLine(line string) bool {
	for _, folder := range f.Observed.Get("ignores").Members() {
		if slices.Contains(slices.Collect(folder.Values()), stconfig.Text(line)) {
			return true
		}
	}
	return false
}

// UnreadablePattern is the error of a template with an ignore pattern that the daemon cannot read.
func UnreadablePattern(pattern, why string) *fleet.Error {
	const enough = 80
	if len(pattern) > enough {
		pattern = strings.ToValidUTF8(pattern[:enough], "") + "…"
	}
	return &fleet.Error{
		Code:    fleet.CodeInvalid,
		Message: fmt.Sprintf("the daemon cannot read the ignore pattern %q, and stops the folder: %s", pattern, why),
		Hint:    `Correct the pattern. A character that means something else is written with \ before it, as in \[.`,
	}
}
