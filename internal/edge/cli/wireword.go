package cli

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/alecthomas/kong"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

// wireWord is what the command line calls a field of the API: its flag, and its words in a command without that flag.
type wireWord struct{ flag, words string }

// wireWords has the fields whose flags are not just their names with hyphens.
var wireWords = map[string]wireWord{
	"apiAddress":      {"address", "address"},
	"apiPort":         {"port", "port"},
	"apiKey":          {"key-file", "API key"},
	"expiresInS":      {"expires", "life"},
	"overlapS":        {"overlap", "overlap"},
	"paths":           {"path", "path"},
	"ignores":         {"ignore", "ignore pattern"},
	"hubs":            {"hub", "hubs"},
	"keepFreePercent": {"keep-free", "percent to keep free"},
	"sendReceive":     {"tag", "tags that send and receive"},
	"secret":          {"encrypted-with", "secret"},
}

// wireText matches the fields of wireWords that are no ordinary words, with what is before them. In keys of a
// configuration such as gui.apiKey the names mean something else.
var wireText = regexp.MustCompile(
	`(^|[^\w.])(apiAddress|apiPort|apiKey|expiresInS|overlapS|keepFreePercent|sendReceive)\b`)

// inOwnWords has an error name flags and arguments of the command instead of fields of the API.
func inOwnWords(command *kong.Node, err error) error {
	var answer *client.Error
	if command == nil {
		return err
	}
	if errors.As(err, &answer) { // Nobody else has this answer.
		p := &answer.Problem
		p.Detail, p.Hint = wordsIn(command, p.Detail), wordsIn(command, p.Hint)
		for i, d := range p.Errors {
			p.Errors[i] = detailIn(command, d)
		}
		return err
	}
	var e *fleet.Error
	if errors.As(err, &e) {
		e.Message, e.Hint = wordsIn(command, e.Message), wordsIn(command, e.Hint)
		for i, d := range e.Details {
			e.Details[i].Field, e.Details[i].Message = placeIn(command, d.Field), wordsIn(command, d.Message)
		}
	}
	return err
}

func detailIn(command *kong.Node, d api.ProblemDetail) api.ProblemDetail {
	d.Message = wordsIn(command, d.Message)
	if d.Location == "" {
		d.Field = placeIn(command, d.Field)
	} else if !strings.HasPrefix(d.Location, "path.") { // The caller knows the parts of the path.
		d.Field, d.Location = placeIn(command, d.Location), ""
	}
	return d
}

func wordsIn(command *kong.Node, text string) string {
	return wireText.ReplaceAllStringFunc(text, func(match string) string {
		parts := wireText.FindStringSubmatch(match)
		word := wireWords[parts[2]]
		if hasFlag(command, word.flag) {
			return parts[1] + "--" + word.flag
		}
		return parts[1] + word.words
	})
}

// placeIn is the flag of a command that sets a field of a request, or that field without the part of the request that
// the command fills by itself.
func placeIn(command *kong.Node, field string) string {
	parts := strings.Split(field, ".")
	for _, part := range slices.Backward(parts) {
		for _, flag := range []string{wireWords[part].flag, hyphened(part), strings.TrimSuffix(hyphened(part), "s")} {
			if hasFlag(command, flag) {
				return "--" + flag
			}
		}
	}
	if wire := parts[0]; wire == "query" || wire == "header" || wire == "form" {
		return strings.TrimPrefix(strings.TrimPrefix(field, wire), ".")
	}
	if word := wireWords[field]; word.words != "" {
		return word.words
	}
	return field
}

// hasFlag reports whether a command has a flag of its own: those of the connection and of the output set no field.
func hasFlag(command *kong.Node, name string) bool {
	return name != "" && slices.ContainsFunc(command.Flags, func(f *kong.Flag) bool {
		return f.Name == name && len(f.Envs) == 0 && name != outputFlag
	})
}

// hyphened is the flag that has the name of a field: "staleAfter" is "stale-after".
func hyphened(field string) string {
	var out strings.Builder
	for _, r := range field {
		if unicode.IsUpper(r) {
			out.WriteByte('-')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}
