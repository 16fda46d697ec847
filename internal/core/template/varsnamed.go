package template

import (
	"regexp"
	"slices"
)

// namedVar matches a name that a program may read of vars: vars.NAME, vars["NAME"] or vars.get("NAME").
var namedVar = regexp.MustCompile(`\bvars\s*(?:\.\s*get\s*\(\s*["']|\[\s*["']|\.)\s*([A-Za-z_][A-Za-z0-9_]*)`)

// VarsNamed returns those of the names that the text of a template reads as vars, sorted. It is for showing where a
// value may come from: a program can read vars whose names it computes.
func VarsNamed(text string, names []string) (named []string) {
	for _, found := range namedVar.FindAllStringSubmatch(text, -1) {
		if slices.Contains(names, found[1]) {
			named = append(named, found[1])
		}
	}
	slices.Sort(named)
	return slices.Compact(named)
}
