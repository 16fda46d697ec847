// Package wishes keeps what people ask of templates, and what they do wrong. The wishes and the templates for them were
// written with nothing but the manual at hand.
package wishes

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"muster/internal/engine/view"
	"muster/internal/fleet"
)

type jsonText = json.RawMessage

var update = flag.Bool("update", false, "write what the golden files should say")

// A wish is a file with the wish, the templates for it as files of the fleet, and the plans of all devices.
func TestFortyWishesHaveTheirPlans(t *testing.T) {
	each(t, "testdata/wishes", 40, "plan", func(t *testing.T, archive *txtar.Archive) string {
		got := attempt(t, archive)
		if strings.Contains(got, "error") || strings.Contains(got, "\n  refused ") {
			t.Errorf("the wish is not fulfilled:\n%s", got)
		}
		return got
	})
}

// each runs a function for each case of a directory, and compares what it gives with the golden section.
func each(t *testing.T, dir string, least int, golden string, run func(*testing.T, *txtar.Archive) string) {
	t.Helper()
	files, err := filepath.Glob(dir + "/*.txtar")
	if err != nil || len(files) < least {
		t.Fatalf("got %d files in %s, %v, want %d or more", len(files), dir, err, least)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got, want := run(t, archive), section(archive, golden)
			if got == want {
				return
			}
			if !*update {
				t.Fatalf("got\n%s\nwant\n%s", got, want)
			}
			archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == golden })
			archive.Files = append(archive.Files, txtar.File{Name: golden, Data: []byte(got)})
			if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// attempt saves the templates of a case, and plans what they do.
func attempt(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	f := newFleet(t, archive)
	var out strings.Builder
	refused := false
	for _, file := range archive.Files {
		name, isTemplate := strings.CutPrefix(file.Name, "templates/")
		if !isTemplate {
			continue
		}
		warnings, err := f.add(name, string(file.Data))
		if err != nil {
			refused = true
			fmt.Fprintf(&out, "%s is not saved:\n%s", name, indented(said(err)))
			continue
		}
		for _, warning := range warnings {
			fmt.Fprintf(&out, "warning on saving %s: %s\n", name, warning)
		}
	}
	if refused {
		return f.named(out.String())
	}
	var made []int64
	for _, t := range f.registry.Templates {
		made = append(made, t.ID)
	}
	for _, warning := range view.EditWarnings(fleet.Edit{}, f.registry, made) {
		fmt.Fprintf(&out, "warning on tagging: %s\n", warning)
	}
	return f.named(out.String()) + f.describe()
}

// said is an error as people read it: each detail with its place, and the hint.
func said(err error) string {
	var e *fleet.Error
	if !errors.As(err, &e) {
		return "error: " + err.Error() + "\n"
	}
	reason := fleet.Reason(err)
	text := "error: " + reason + "\n"
	for _, d := range e.Details {
		at := fmt.Sprintf("line %d, column %d", d.Line, d.Column)
		switch {
		case !strings.Contains(reason, d.Message):
			text += d.Message + "\n"
		case d.Line > 0 && !strings.Contains(reason, at):
			text += at + "\n"
		}
	}
	if e.Hint != "" {
		text += "hint: " + e.Hint + "\n"
	}
	return text
}
