package reconcile_test

import (
	"slices"
	"strings"
	"testing"

	"muster/internal/fleet"
)

func TestASecretInClearIsWarnedOf(t *testing.T) {
	for name, c := range map[string]struct {
		key, text string
		warned    []string // keys
	}{
		"in clear": {"gui.password", `"letmein"`, []string{"gui.password"}},
		"inside":   {"gui", `{"password": "letmein", "theme": "dark"}`, []string{"gui.password"}},
		"below a folder": {"folders.*.devices", `[{"deviceID": "` + string(nora) + `", "encryptionPassword": "letmein"}]`,
			[]string{"folders.*.devices." + string(nora) + ".encryptionPassword"}},
		"by name":   {"gui.password", `"${secret:pw}"`, nil},
		"blank":     {"gui.password", `""`, nil},
		"no secret": {"gui.theme", `"dark"`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				b := newBench(t)
				b.start()
				defer b.stop()
				made, err := b.engine.Evaluate(t.Context(), tmpl(0, fleet.OpMerge, c.key, c.text), b.id)
				if err != nil {
					t.Fatal(err)
				}
				var warned []string
				for _, warning := range made.Warnings {
					if key, _, clear := strings.Cut(warning, " is in clear"); clear {
						warned = append(warned, key)
					}
					if strings.Contains(warning, "letmein") {
						t.Errorf("the warning tells the secret: %s", warning)
					}
				}
				if !slices.Equal(warned, c.warned) {
					t.Errorf("got %q, want %q, of %q", warned, c.warned, made.Warnings)
				}
			})
		})
	}
}
