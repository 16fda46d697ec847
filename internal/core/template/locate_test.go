package template

import "testing"

func TestLocateFindsTheLineOfAText(t *testing.T) {
	text := "{\n  # [bad stands here, too\n  lines: [\n    fine\n    \"[bad\"\n  ]\n}"
	if line, column := Locate(text, "[bad"); line != 5 || column != 5 {
		t.Errorf("found at %d:%d", line, column)
	}
	if line, _ := Locate(text, "nothing"); line != 0 {
		t.Errorf("what is not there was found in line %d", line)
	}
	if line, _ := Locate(`def template(): return ["[bad"]`, "[bad"); line != 0 {
		t.Errorf("a program is no HJSON, and the text was found in line %d", line)
	}
}
