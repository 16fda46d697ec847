package plan

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The manual named some of the directories, "and the like".
func TestTheManualNamesEveryDirectoryOfPrograms(t *testing.T) {
	manual, err := os.ReadFile("../../../docs/templates.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Concat(programDirectories, programDirectoriesOfHome) {
		if !strings.Contains(string(manual), "`"+name+"`") {
			t.Errorf("docs/templates.md does not name %s", name)
		}
	}
}
