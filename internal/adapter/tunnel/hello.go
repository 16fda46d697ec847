package tunnel

import (
	"slices"
	"strings"
	"unicode"

	"muster/internal/fleet"
)

const (
	maxHelloText = 255 // bytes of each text except the key
	maxKeyBytes  = 1 << 10
)

// bounded returns a hello that can be stored and shown: its texts are short and printable.
func (h Hello) bounded() Hello {
	h.Name, h.System, h.Version = printable(h.Name), printable(h.System), printable(h.Version)
	if h.APIPort < 1 || h.APIPort > 65535 {
		h.APIPort = 0
	}
	if len(h.Key) > maxKeyBytes {
		h.Key = ""
	}
	if pin, err := fleet.ParsePin(h.Pin); err != nil || pin != h.Pin {
		h.Pin = ""
	}
	h.List = min(max(h.List, 1), ListVersion)
	h.Allow = slices.DeleteFunc(slices.Clone(Switches), func(name string) bool { return !slices.Contains(h.Allow, name) })
	return h
}

// printable removes invisible characters and those that change the direction of text.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	return strings.ToValidUTF8(text[:min(len(text), maxHelloText)], "")
}
