package cli

import (
	"strings"
	"testing"
)

// A label with a character that shows nothing looked like the label of another device.
func TestCharactersThatShowNothingAreSeen(t *testing.T) {
	for text, want := range map[string]string{
		"nas\u200b": "nas\ufffd", "n\u00adas": "n\ufffdas", "\ufeffnas": "\ufffdnas", "nas\u2060": "nas\ufffd",
		"nas\u3164": "nas\ufffd", "nas\u2028x": "nas\ufffdx", "nas\u202e": "nas\ufffd", "nas\x1b[2J": "nas\ufffd[2J",
		"nas\U000e0041": "nas\ufffd", "Zürich": "Zürich", "می\u200cخواهم": "می\u200cخواهم",
	} {
		if got := printable(text); got != want {
			t.Errorf("%q is printed as %q, want %q", text, got, want)
		}
		if got := nameOf(idNAS, text); !strings.HasPrefix(got, want+" (") {
			t.Errorf("a device with the label %q is called %q", text, got)
		}
	}
}
