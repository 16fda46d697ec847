package cli

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"muster/internal/fleet"
)

// The files that `muster export` wrote of templates that were stored before name what may not be saved any more.
func TestRefusedTextsAreNamedWithFileAndLine(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{
		"fleet.hjson":          "{}\n",
		"templates/jinja.star": "# key: gui.theme\n# ---\ndef template(device):\n  return \"{{ device.label }}\"\n",
		"templates/yaml.hjson": "# key: options\n# op: merge\n# ---\nlisteners:\n  - one\n",
		"templates/good.hjson": "# key: options.maxSendKbps\n# ---\n5 // was {{ rate }}\n",
	}
	if err := os.Mkdir(filepath.Join(dir, templatesDir), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		write(t, dir, name, text)
	}
	_, err := readFleetDir(dir)
	var faults *fleet.Error
	if !errors.As(err, &faults) || len(faults.Details) != 2 {
		t.Fatalf("got %+v, want two faults", err)
	}
	wanted := []fleet.Detail{{Field: "templates/jinja.star", Line: 4}, {Field: "templates/yaml.hjson", Line: 5}}
	for i, want := range wanted {
		if got := faults.Details[i]; got.Field != want.Field || got.Line != want.Line {
			t.Errorf("got %s line %d, want %s line %d", got.Field, got.Line, want.Field, want.Line)
		}
	}
}
