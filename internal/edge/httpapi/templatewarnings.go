package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"muster/internal/fleet"
)

// warningsOf returns the warnings about the new and changed templates of an edit. Authors plan edits, and may see the
// names of secrets. Operators plan an undo, and may not, so its warnings name no secret.
func (s PlanningHandlers) warningsOf(ctx context.Context, edit fleet.Edit) []string {
	warnings := []string{}
	secrets := sync.OnceValues(func() (names []string, err error) {
		stored, err := s.Secrets.Secrets(ctx)
		for _, secret := range stored {
			names = append(names, secret.Name)
		}
		return names, err
	})
	add := func(name string, t fleet.Template) {
		texts := s.Checker.Warnings(ctx, t)
		if edit.Undo == nil && s.Secrets != nil {
			texts = append(texts, secretWarnings(t, secrets)...)
		}
		for _, text := range texts {
			warnings = append(warnings, name+": "+text)
		}
	}
	for i, made := range edit.New {
		name := fmt.Sprintf("new template %d", i+1)
		if made.Label != "" {
			name = fmt.Sprintf("template %q", made.Label)
		}
		add(name, made.Template)
	}
	for _, changed := range edit.Changed {
		name := fmt.Sprintf("template %d", changed.ID)
		if changed.Label != "" {
			name += fmt.Sprintf(" %q", changed.Label)
		}
		add(name, changed)
	}
	return warnings
}

var (
	// namedSecret matches a secret whose name is written out in HJSON or in a program.
	namedSecret = regexp.MustCompile(`\$\{secret:([^}"'\n]+)\}|` +
		`\bsecret\(\s*(?:name\s*=\s*)?(?:"([^"\\\n]+)"|'([^'\\\n]+)')\s*\)`)
	commentLines = regexp.MustCompile(`(?m)^[ \t]*(#|//).*$`)
)

// secretWarnings names the secrets of a template that do not exist. known reads the names of those that exist.
func secretWarnings(t fleet.Template, known func() ([]string, error)) (warnings []string) {
	if !t.Reads.OrAll().Secrets {
		return nil
	}
	names, err := known()
	if err != nil {
		return nil // The plan itself says what it lacks.
	}
	var named []string
	for _, found := range namedSecret.FindAllStringSubmatch(commentLines.ReplaceAllString(t.Text, ""), -1) {
		name := cmp.Or(found[1:]...)
		if slices.Contains(named, name) || slices.Contains(names, name) {
			continue
		}
		named = append(named, name)
		warnings = append(warnings, fmt.Sprintf("there is no secret %q%s", name, fleet.DidYouMean(name, names)))
	}
	return warnings
}
