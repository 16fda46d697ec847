package syncthing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// decode parses JSON whose shape was checked. It returns CodeUnbelievable for a value of an unexpected type.
func decode(body []byte, v any, l *Limits, during string) error {
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

// checkShape checks depth and number of values in one linear scan. The check is needed because decoders recurse and a
// stack overflow cannot be recovered, and because two bytes of JSON may become a value that takes twenty times as much
// memory.
func checkShape(body []byte, l *Limits) error {
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

// checkObject checks a document that is passed on unparsed: it must be one JSON object of limited depth.
func checkObject(body []byte, l *Limits, during string) error {
	if err := checkShape(body, l); err != nil {
		return disbelieve(during, "it is "+err.Error(), err)
	}
	if trimmed := bytes.TrimSpace(body); len(trimmed) == 0 || trimmed[0] != '{' || trimmed[len(trimmed)-1] != '}' {
		return disbelieve(during, "it is no JSON object", nil)
	}
	return nil
}

// sane refuses strings that no daemon sends and no database can store.
func sane(l *Limits, during string, texts ...string) error {
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
		if v > maxCount {
			return disbelieve(during, "it counts more than there can be", nil)
		}
	}
	return nil
}
