package template

import (
	"fmt"
	"strings"
	"testing"
)

func TestADocumentKnowsItsLines(t *testing.T) {
	d, err := ReadDocument("# fleet\n{\n  devices: {\n    A: {label: \"x\"}\n" +
		"    B: {\n      tags: [\n        one\n        two\n      ]\n    }\n  }\n}\n")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{
		"devices": 3, "devices.A": 4, "devices.A.label": 4, "devices.B.tags": 6, "devices.B.tags.1": 8,
		"devices.C": 3, "devices.B.tags.7": 6,
	} {
		if got := d.Line(strings.Split(path, ".")...); got != want {
			t.Errorf("%s: got line %d, want %d", path, got, want)
		}
	}
}

func TestADocumentMayBeLargeAndHoldsNoSecret(t *testing.T) {
	var b strings.Builder
	for i := range 3 * MaxNames {
		fmt.Fprintf(&b, "device-%d: {label: \"a device\"}\n", i)
	}
	d, err := ReadDocument(b.String())
	if err != nil || d.Line("device-5999") != 6000 {
		t.Errorf("got %v, line %d", err, d.Line("device-5999"))
	}
	for text, want := range map[string]string{
		`{a: "${secret:x}"}`: "a secret cannot stand here", "{a: 1, a: 2}": "stands twice", "{a: ": "", "": "empty",
	} {
		if _, err := ReadDocument(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}
