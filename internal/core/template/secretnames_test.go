package template

import (
	"strings"
	"testing"
)

func TestTheSecretsThatAProgramNamesAreFound(t *testing.T) {
	const def = "def template(device):\n    "
	for text, want := range map[string]string{
		"{password: \"${secret:a}\"}": "a",
		"secret(\"a\")":               "a",
		def + "return [secret('b'), secret(\"a\"), secret(\"a\")]\n":   "a b",
		"SECRET = \"a\"\n\n" + def + "return secret(SECRET)\n":         "a",
		"SECRET = \"a\" + \"b\"\n\n" + def + "return secret(SECRET)\n": "computed",
		"S = \"a\"\n\n" + def + "S = \"b\"\n    return secret(S)\n":    "computed",
		def + "return [secret(\"a\"), secret(device.label)]\n":         "a computed",
		def + "get = secret\n    return get(\"a\")\n":                  "computed",
		def + "return \"secret('a')\"\n":                               "",
	} {
		p, err := Compile(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		names, computed := p.SecretNames()
		if computed {
			names = append(names, "computed")
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
