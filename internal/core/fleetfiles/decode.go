package fleetfiles

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"muster/internal/core/template"
	"muster/internal/fleet"
)

// Fault returns the detail of an error about one line of a file.
func Fault(path string, line int, format string, args ...any) fleet.Detail {
	return fleet.Detail{Field: path, Line: max(line, 1), Message: fmt.Sprintf(format, args...)}
}

// Faults returns one error with all faults, or nil if the list is empty.
func Faults(all []fleet.Detail) error {
	if len(all) == 0 {
		return nil
	}
	return &fleet.Error{Code: fleet.CodeInvalid, Message: "the files are wrong", Details: all,
		Hint: "`muster export --help` shows what the files look like."}
}

// FaultsIn returns the faults that err names in a text which begins after line number before of its file.
func FaultsIn(path string, before int, err error) []fleet.Detail {
	var e *fleet.Error
	if line, message, found := strings.Cut(strings.TrimPrefix(err.Error(), "line "), ": "); found {
		if n, wrong := strconv.Atoi(line); wrong == nil { // The faults of a header have their own line.
			return []fleet.Detail{Fault(path, n, "%s", message)}
		}
	}
	if !errors.As(err, &e) || len(e.Details) == 0 {
		return []fleet.Detail{Fault(path, 1+before, "%v", err)}
	}
	var all []fleet.Detail
	for _, d := range e.Details {
		d.Field, d.Line = path, max(d.Line, 1)+before
		if e.Hint != "" {
			d.Message += ". " + e.Hint
		}
		all = append(all, d)
	}
	return all
}

// Decode reads an HJSON file into a value. The document it returns knows the line of each value.
func Decode[T any](path, text string, into *T) (template.Document, []fleet.Detail) {
	document, err := template.ReadDocument(text)
	if err != nil {
		return document, FaultsIn(path, 0, err)
	}
	err = jsonv2.Unmarshal(document.Value.JSON(), into, jsonv2.RejectUnknownMembers(true))
	var semantic *jsonv2.SemanticError
	switch {
	case errors.As(err, &semantic):
		parts := []string{}
		for part := range semantic.JSONPointer.Tokens() {
			parts = append(parts, part)
		}
		return document, []fleet.Detail{Fault(path, document.Line(parts...), "%s", misfit(semantic, parts))}
	case err != nil:
		return document, []fleet.Detail{Fault(path, 1, "%v", err)}
	}
	return document, nil
}

// misfit describes which value has the wrong type, in the words of the file. parts are the names on the way to the
// value.
func misfit(e *jsonv2.SemanticError, parts []string) string {
	where := strings.Join(parts, ".")
	switch {
	case errors.Is(e, jsonv2.ErrUnknownName):
		return "there is no field " + where
	case where == "":
		return "the file is " + kinds[e.JSONKind] + " and should be another"
	}
	return fmt.Sprintf("%s cannot be %s", where, kinds[e.JSONKind])
}

// kinds names the kinds of JSON values.
var kinds = map[jsontext.Kind]string{
	'n': "null", 't': "true", 'f': "false", '"': "a text", '0': "this number", '{': "an object", '[': "a list",
}
