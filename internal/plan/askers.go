package plan

import (
	"fmt"
	"strconv"
	"strings"

	"muster/internal/stconfig"
)

// adminsAsk tells whether the templates that admins saved ask for what stands at a key without the help of others.
func (g guard) adminsAsk(key stconfig.Key) bool {
	is := stconfig.Lookup(g.desired, key)
	admins := stconfig.Lookup(g.admins(), key)
	return is.Exists() == admins.Exists() && is.Equal(admins)
}

// unlessAdmins ends the reason of a row that is free for admins: who asks, and what an admin can do.
func (g guard) unlessAdmins(p place, more ...string) string {
	do := append([]string{"consents", "saves the template"}, more...)
	who := "no template of an admin asks for it by itself"
	switch authors := g.asked(keyOf(p.names)).Authors; {
	case len(authors) == 1 && authors[0] == 0:
		who = "this template is not an admin's"
	case len(authors) == 1 && len(g.othersVars(authors[0])) > 0:
		who = fmt.Sprintf("template %d reads vars that were not last saved by an admin (%s)", authors[0],
			strings.Join(g.othersVars(authors[0]), "; "))
		do[1] = "saves the vars"
	case len(authors) == 1:
		who = fmt.Sprintf("template %d was not last saved by an admin", authors[0])
	case len(authors) > 1:
		who = fmt.Sprintf("templates %s were not last saved by an admin", listed(authors))
		do[1] = "saves the templates"
	default:
		do[1] = "asks for it"
	}
	return fmt.Sprintf("; %s: an admin %s", who, strings.Join(do, ", or "))
}

func (g guard) othersVars(template int64) []string {
	if g.facts.OthersVars == nil {
		return nil
	}
	return g.facts.OthersVars(template)
}

func listed(ids []int64) string {
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = strconv.FormatInt(id, 10)
	}
	return strings.Join(texts, ", ")
}

// quoted is an argument as a shell takes it.
func quoted(s string) string {
	plain := func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("/._-~", r))
	}
	if !strings.ContainsFunc(s, plain) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func keyOf(names []string) stconfig.Key {
	key := stconfig.Key{}
	for _, name := range names {
		key = key.Child(name)
	}
	return key
}

// whyJunctions says why junctions may not be followed: on Windows they lead out of a folder, like symbolic links. A
// new folder may be as the daemon's own defaults are.
func whyJunctions(g guard, p place) string {
	byDefault := strings.EqualFold(p.names[0], "folders") && !stconfig.Lookup(g.observed, keyOf(p.names[:2])).Exists() &&
		g.observed.Get("defaults").Get("folder").Get("junctionsAsDirs").IsTrue()
	if !p.to.IsTrue() || byDefault || g.adminsAsk(keyOf(p.names)) {
		return ""
	}
	return "junctions lead out of the folder on Windows" + g.unlessAdmins(p)
}
