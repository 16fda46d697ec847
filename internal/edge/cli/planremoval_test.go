package cli

import "testing"

func TestPlanOfARemovalNeedsNoText(t *testing.T) {
	body, err := parseWhatIf([]byte(`{templates: {new: [
		{op: "remove", key: "folders.old"}, {op: "Remove", key: "folders.older", template: " "}
		{op: "remove", key: "folders", template: "[\"a\"]"}, {op: "set", key: "options.natEnabled"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"true\n", "true\n", `["a"]`, "absent"} {
		got := "absent"
		if text := body.Templates.New[i].Template; text != nil {
			got = *text
		}
		if got != want {
			t.Errorf("template %d: got the text %q, want %q", i, got, want)
		}
	}
}
