package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"

	"muster/internal/fleet"
)

// warningsOf are those about the new and changed templates of an edit. Only authors may ask for it, so the warnings may
// name secrets; an undo is the work of an operator.
func (s PlanningHandlers) warningsOf(ctx context.Context, edit fleet.Edit) []string {
	warnings := []string{}
	secrets := secretNames{source: s.Secrets}
	add := func(name string, t fleet.Template) {
		texts := s.Checker.Warnings(ctx, t)
		if edit.Undo == nil {
			texts = append(texts, secrets.warnings(ctx, t)...)
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

// secretNames are the names of the secrets that there are. They are read when they are needed first.
type secretNames struct {
	source Secrets
	read   bool
	names  []string
	err    error
}

func (s *secretNames) known(ctx context.Context) ([]string, error) {
	if s.read {
		return s.names, s.err
	}
	s.read = true
	secrets, err := s.source.Secrets(ctx)
	for _, secret := range secrets {
		s.names = append(s.names, secret.Name)
	}
	s.err = err
	return s.names, err
}

var (
	// namedSecret matches a secret whose name is written out in HJSON or in a program.
	namedSecret = regexp.MustCompile(`\$\{secret:([^}"'\n]+)\}|` +
		`\bsecret\(\s*(?:name\s*=\s*)?(?:"([^"\\\n]+)"|'([^'\\\n]+)')\s*\)`)
	commentLines = regexp.MustCompile(`(?m)^[ \t]*(#|//).*$`)
)

// warnings name the secrets of a template that do not exist.
func (s *secretNames) warnings(ctx context.Context, t fleet.Template) (warnings []string) {
	if s.source == nil || !t.Reads.OrAll().Secrets {
		return nil
	}
	var named []string
	for _, found := range namedSecret.FindAllStringSubmatch(commentLines.ReplaceAllString(t.Text, ""), -1) {
		if name := cmp.Or(found[1:]...); !slices.Contains(named, name) {
			named = append(named, name)
		}
	}
	known, err := s.known(ctx)
	if err != nil {
		return nil // The plan itself says what it lacks.
	}
	for _, name := range named {
		if slices.Contains(known, name) {
			continue
		}
		meant := ""
		if near := fleet.Nearest(name, known); near != "" {
			meant = fmt.Sprintf(" (did you mean %q?)", near)
		}
		warnings = append(warnings, fmt.Sprintf("there is no secret %q%s", name, meant))
	}
	return warnings
}
