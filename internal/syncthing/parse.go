package syncthing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// decode reads JSON that has been looked at for its depth. A value of another type than expected is not believed.
func decode(body []byte, v any, l Limits, during string) error {
	err := checkShape(body, l)
	if err == nil {
		err = json.Unmarshal(body, v)
	}
	if err == nil {
		return nil
	}
	return disbelieve(during, "it is not the JSON that a Syncthing daemon gives", err)
}

func disbelieve(during, what string, err error) error {
	e := unbelievableBecause(what, err)
	e.During = during
	return e
}

// checkShape is a linear scan: decoders recurse, and a Go stack overflow cannot be recovered; and two bytes may become
// a value that takes twenty times as much.
func checkShape(body []byte, l Limits) error {
	depth, values, inText := 0, 0, false
	for i := 0; i < len(body); i++ {
		switch b := body[i]; {
		case inText:
			switch b {
			case '\\':
				i++
			case '"':
				inText = false
			}
		case b == '"':
			inText = true
		case b == ',':
			if values++; values > l.Values {
				return fmt.Errorf("more than %d values", l.Values)
			}
		case b == '{', b == '[':
			if depth++; depth > l.Depth {
				return fmt.Errorf("nested deeper than %d levels", l.Depth)
			}
		case b == '}', b == ']':
			depth--
		}
	}
	return nil
}

// checkObject looks at a document that goes on as it is, to a client that reads all of it: it has to look like one
// object of sane depth.
func checkObject(body []byte, l Limits, during string) error {
	if err := checkShape(body, l); err != nil {
		return disbelieve(during, "it is "+err.Error(), err)
	}
	if trimmed := bytes.TrimSpace(body); len(trimmed) == 0 || trimmed[0] != '{' || trimmed[len(trimmed)-1] != '}' {
		return disbelieve(during, "it is no JSON object", nil)
	}
	return nil
}

// sane refuses texts that no daemon sends and no database keeps.
func sane(l Limits, during string, texts ...string) error {
	for _, text := range texts {
		if len(text) > l.TextBytes {
			return disbelieve(during, "it holds a text that is far too long", nil)
		}
		if strings.ContainsRune(text, 0) {
			return disbelieve(during, "it holds a text with a zero byte", nil)
		}
	}
	return nil
}

func counters(during string, values ...int64) error {
	for _, v := range values {
		if v < 0 {
			return disbelieve(during, "it holds a negative counter", nil)
		}
	}
	return nil
}
