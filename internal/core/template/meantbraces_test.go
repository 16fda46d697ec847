package template

import (
	"errors"
	"strings"
	"testing"

	"muster/internal/fleet"
)

// Texts that were refused, although no daemon gets their braces, and places that were not looked at.
func TestBracesThatAreMeantAreNotRefused(t *testing.T) {
	for _, text := range []string{
		`"/srv/{{x}}".format()`,
		`"/srv/{{ name }}".replace("{{ name }}", "a")`,
		`"{{ name }}" in "some text"`,
		`"some text" if "{{ name }}" == "other" else "b"`,
		`"/srv/{{ name }} %s" % "a"`,
		"def template(device):\n    path = \"/srv/{{ name }}\"\n    return path.replace(\"{{ name }}\", device.label)",
		"path = \"{{ name }}\"\ndef template(device):\n    return path.format(device.label)",
		"def template(device):\n    \"\"\"Replaces {{ name }}.\"\"\"\n    return 5",
		"{ maxSendKbps: 500 // was {{ rate }}\n}",
		"{ maxSendKbps: 500 # was {{ rate }}\n}",
		"{ /* {{ rate }} */ maxSendKbps: 500 }",
		"// {{ rate }}\n{ maxSendKbps: 500 }",
		"500 # {{ rate }}",
	} {
		if _, err := CompileNew(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string]spot{
		`["{{ name }}"]`:                            {1, 3},
		`{ "{{ name }}": 5 }`:                       {1, 4},
		"{ label: '''\n  # {{ name }}\n  ''' }":     {2, 5},
		"{ label: '''\n  // {{ name }}\n  ''' }":    {2, 6},
		"{ path: /srv/{{ name }}\n}":                {1, 14},
		`{ path: "\u007b{ name }}" }`:               {1, 9},
		`["{{ name }}"] + ["a"]`:                    {1, 3},
		`"a" + "{{ name }}".upper()`:                {1, 8},
		"def template():\n    return \"{{ a.b }}\"": {2, 13},
	} {
		_, err := CompileNew(text)
		if !strings.Contains(messageOf(err), "another template language") || spotOfError(err) != want {
			t.Errorf("%s: got %v, want a placeholder at %v", text, err, want)
		}
	}
}

// A comment or a text between quotes was taken for the cause of a fault of the parser.
func TestFaultsAreNotExplainedByTextsAndComments(t *testing.T) {
	for _, text := range []string{
		"def template(device):\n    return [1 2] # {{ name }}",
		"def template(device):\n    return [\"{{ name }}\" 2]",
		"def template(device):\n    return [\"{{ name }}\".format(1) 2]",
		"def template(device):\n    return 1 if \"what is it\"",
		"def template(device):\n    return 1 if 2 # is it",
	} {
		_, err := Compile(text)
		said := messageOf(err)
		if said == "" || strings.Contains(said, "another template language") || strings.Contains(said, "no `is`") {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

func messageOf(err error) string { return detailOf(err).Message }

func spotOfError(err error) spot { return spot{detailOf(err).Line, detailOf(err).Column} }

func detailOf(err error) fleet.Detail {
	var e *fleet.Error
	if errors.As(err, &e) && len(e.Details) > 0 {
		return e.Details[0]
	}
	return fleet.Detail{}
}
