package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// A command of the manual that is mistyped helps nobody at night.
func TestTheCommandsOfTheManualAreUnderstood(t *testing.T) {
	manual, err := os.ReadFile("../../docs/backup.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^    muster ([^#\n]*)`).FindAllStringSubmatch(string(manual), -1)
	if len(lines) < 10 {
		t.Fatalf("the manual has %d commands", len(lines))
	}
	for _, command := range lines {
		if strings.Contains(command[1], "--help") {
			continue
		}
		var model commands
		if _, err := modelOf(t, &model).Parse(strings.Fields(command[1])); err != nil {
			t.Errorf("muster %s: %v", command[1], err)
		}
	}
}
