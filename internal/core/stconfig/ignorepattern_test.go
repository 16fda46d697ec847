package stconfig

import (
	"strings"
	"testing"

	"muster/internal/fleet"
)

func TestIgnoreLinesThatADaemonCannotRead(t *testing.T) {
	for _, line := range []string{
		"[unclosed", "a[", "[]", "[!]", "[a-z0-9]", "[z-a]", "[a-", "[a-]", "(?i)", "!", "(?d)!(?i)", "#include",
		"#include ", "#includefile",
		"!(?d)[x", "{a,[b}", "a/[b/", strings.Repeat("x", 1<<16),
	} {
		if CheckIgnoreLine(line, "linux") == "" {
			t.Errorf("%.40q passes", line)
		}
	}
	for _, line := range []string{
		"", "  ", "// [comment", "*", "**/x", "/rooted", "[abc]", "[!a-z]", "[^a]", `\[literal`, `[a\]]`, "{a,b}", "{open",
		"close}", "]", "a,b",
		"(?i)(?d)!x", "#include other", "#anything", "x(?i)", "[a-z]*.tmp", "(?i)(?i)",
	} {
		if why := CheckIgnoreLine(line, "linux"); why != "" {
			t.Errorf("%q: %s", line, why)
		}
	}
}

// On Windows \ is a separator and escapes nothing. Where the system is not known, only what no system reads is wrong.
func TestIgnoreLinesDependOnTheSystem(t *testing.T) {
	for _, c := range []struct {
		line                    string
		linux, windows, unknown bool // can be read
	}{
		{`\[literal`, true, false, true},
		{`[a\]`, false, true, true},
		{`[Z-a]`, true, false, true},
		{`[unclosed`, false, false, false},
	} {
		for os, reads := range map[string]bool{"linux": c.linux, "windows": c.windows, "": c.unknown} {
			if why := CheckIgnoreLine(c.line, os); (why == "") != reads {
				t.Errorf("%q on %q: %q", c.line, os, why)
			}
		}
	}
}

func TestTheFirstBadLineIsNamed(t *testing.T) {
	if at, why := CheckIgnores([]string{"fine", "[a-z]", "[bad", "[worse"}, ""); at != 2 || why == "" {
		t.Errorf("line %d: %s", at, why)
	}
	if at, _ := CheckIgnores([]string{"#escape=|", `|[a`}, ""); at != -1 {
		t.Errorf("line %d is wrong, though the escape character is another", at)
	}
}

// Whether an included file is there only the daemon knows: the template is saved, with a warning.
func TestAnIncludeIsAWarning(t *testing.T) {
	mistakes := Mistakes(fleet.OpSet, mustKey(t, "ignores.photos"), parsed(t, `["fine", "#include other"]`))
	if len(mistakes) != 1 || mistakes[0].Kind != StrangeValue || !strings.Contains(mistakes[0].Text, `"other"`) {
		t.Errorf("got %+v", mistakes)
	}
}
