package stsim

import (
	"encoding/json"

	"muster/internal/core/stconfig"
)

const indentation = "  "

// indented is the text of what the daemon says, in its own layout. Documents are most of what thousands of daemons
// say, and encoding/json reads each of them three times over while it indents them.
func indented(v any) ([]byte, error) {
	if document, ok := v.(stconfig.Value); ok {
		return appendIndented(nil, document, "\n"), nil
	}
	return json.MarshalIndent(v, "", indentation)
}

// appendIndented writes a value that stands on a line with this beginning.
func appendIndented(b []byte, v stconfig.Value, line string) []byte {
	if v.Len() == 0 {
		return v.AppendJSON(b)
	}
	open, end := byte('['), byte(']')
	if v.Kind() == stconfig.Object {
		open, end = '{', '}'
	}
	for i := range v.Len() {
		if i == 0 {
			b = append(b, open)
		} else {
			b = append(b, ',')
		}
		b = append(append(b, line...), indentation...)
		if v.Kind() == stconfig.Object {
			b = append(stconfig.Text(v.Name(i)).AppendJSON(b), ": "...)
		}
		b = appendIndented(b, v.At(i), line+indentation)
	}
	return append(append(b, line...), end)
}
