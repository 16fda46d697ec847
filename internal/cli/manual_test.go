package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// A command of the manual that is mistyped helps nobody at night.
func TestTheCommandsOfTheManualAreUnderstood(t *testing.T) {
	for page, least := range map[string]int{"backup.md": 10, "agent.md": 3, "enrolment.md": 5, "files.md": 10} {
		manual, err := os.ReadFile("../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		lines := regexp.MustCompile(`(?m)^ {4,8}muster ([^#\n]*)`).FindAllStringSubmatch(string(manual), -1)
		if len(lines) < least {
			t.Fatalf("%s has %d commands", page, len(lines))
		}
		for _, command := range lines {
			if strings.Contains(command[1], "--help") {
				continue
			}
			var model commands
			if _, err := modelOf(t, &model).Parse(strings.Fields(command[1])); err != nil {
				t.Errorf("%s: muster %s: %v", page, command[1], err)
			}
		}
	}
}
