package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"muster/internal/edge/cli"
	"muster/internal/fleet"
)

// recipeByOS is the recipe of the manual that depends on what the daemons have told of their systems.
var recipeByOS = regexp.MustCompile("(?s)### 11\\. Per-OS paths\n\n```python\n(.*?)```\n\n```text\n(.*?)```")

// The recipe with a path for each system failed in `muster test`, because files said nothing of the systems.
func TestTheRecipeOfPathsRunsWithoutAServer(t *testing.T) {
	text, err := os.ReadFile("../../docs/templates.md")
	if err != nil {
		t.Fatal(err)
	}
	recipe := recipeByOS.FindStringSubmatch(string(text))
	if recipe == nil {
		t.Fatal("the manual has no recipe of paths")
	}
	var devices, assertions []string
	for n, line := range strings.Split(strings.TrimSpace(recipe[2]), "\n") {
		device, rest, _ := strings.Cut(line, ": ")
		key, value, found := strings.Cut(rest, " is ")
		if !found {
			t.Fatalf("%q is no result", line)
		}
		system := map[string]string{"office": "linux", "windows": "windows"}[device]
		devices = append(devices, fmt.Sprintf(`"%s": {label: %q, tags: ["everyone"], system: {os: %q}}`,
			fleet.DeviceIDOf([32]byte{byte(n + 1)}), device, system))
		assertion := fmt.Sprintf("{name: %q, device: %q, expect: {%q: %s}}", line, device, key, value)
		assertions = append(assertions, assertion)
	}
	known := "{devices: {\n" + strings.Join(devices, "\n") + "\n}}\n"
	out, code := offline(t, known, recipe[1], assertions)
	if code != 0 || !strings.Contains(out, "2 assertions, broken: 0") {
		t.Errorf("it ended with %d: %s", code, out)
	}
	unknown := regexp.MustCompile(`, system: \{.*?\}`).ReplaceAllString(known, "")
	out, code = offline(t, unknown, recipe[1], assertions)
	if code == 0 || !strings.Contains(out, "was never seen") {
		t.Errorf("without what the daemons have told it ended with %d: %s", code, out)
	}
}

// offline runs muster test over a fleet with one template.
func offline(t *testing.T, fleetFile, program string, assertions []string) (out string, code int) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"fleet.hjson": fleetFile, "templates/work.star": program,
		"tests/work.hjson": "[" + strings.Join(assertions, "\n") + "]\n"} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var said bytes.Buffer
	streams := cli.Streams{In: strings.NewReader(""), Out: &said, Err: &said}
	code = cli.Run(context.Background(), []string{"test", "-f", dir}, streams, "test")
	return said.String(), code
}
