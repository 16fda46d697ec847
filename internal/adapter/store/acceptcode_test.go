package store

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster/internal/fleet"
)

// The disk was full, so the new code was in memory only and the file had the one before: no code was accepted.
func TestACodeThatCouldNotBeWrittenIsWrittenWhenItIsAskedFor(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	code := acceptCode{path: filepath.Join(home, fleet.AcceptFile)}
	code.renew(&Store{log: slog.New(slog.DiscardHandler)})
	err := code.check("the one before")
	var refused *fleet.Error
	if !errors.As(err, &refused) || refused.Code != fleet.CodeUnavailable ||
		!strings.Contains(refused.Hint, "Free space") {
		t.Errorf("got %v", err)
	}
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := code.check("the one before"); fleet.CodeOf(err) != fleet.CodeForbidden {
		t.Errorf("got %v", err)
	}
	content := must(os.ReadFile(code.path))(t)
	if err := code.check(strings.TrimSpace(string(content))); err != nil {
		t.Errorf("the content of the file: %v", err)
	}
}
