package cli

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"muster/internal/fleet"
)

// narrowing are the flags that narrow down what a command is about, or name the server: without them it is about more.
var narrowing = []string{"tag", "filter", "device", "folder", "context"}

// blankArgument refuses an argument, or a flag that narrows down what a command is about, that is given and blank, as
// by an unset variable of a script: a blank tag would mean the whole fleet. A blank key is allowed, and means the whole
// configuration.
func blankArgument(parsed *kong.Context) error {
	for _, step := range parsed.Path {
		var name string
		var given reflect.Value
		switch {
		case step.Positional != nil && step.Positional.Name != "key":
			name, given = "<"+step.Positional.Name+">", step.Positional.Target
		case step.Flag != nil && slices.Contains(narrowing, step.Flag.Name):
			name, given = "--"+step.Flag.Name, step.Flag.Target
		default:
			continue
		}
		if isBlank(given) {
			return &fleet.Error{Code: fleet.CodeInvalid, Message: name + " is blank",
				Hint: fmt.Sprintf("Give it a value, or see `%s --help`.", parsed.Selected().FullPath())}
		}
	}
	return nil
}

func isBlank(given reflect.Value) bool {
	switch texts := given.Interface().(type) {
	case string:
		return strings.TrimSpace(texts) == ""
	case []string:
		return slices.ContainsFunc(texts, func(text string) bool { return strings.TrimSpace(text) == "" })
	}
	return false
}
