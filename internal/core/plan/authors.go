package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"muster/internal/core/stconfig"
)

// The table of authortable.go limits what people below admin can ask for. Each value of a change has one of three
// origins. Admins ask for the values that the templates of admins result in, without all other templates. Nobody asks
// for the values with which a new member starts. People below admin ask for all other values.

// part is one place of a change, with what the judgement of the place needs.
type part struct {
	place
	change   *Change
	want     stconfig.Value   // the desired value; its secrets are Handles
	defaults []stconfig.Value // the values with which a new member may start here
}

// whyAuthors returns why a change waits for an admin; "" if it does not. The change waits if somebody below admin asks
// for a place that the change affects, and authorTable does not let them set it. after is the document with the whole
// plan applied.
func (g guard) whyAuthors(c *Change, after stconfig.Value) string {
	member := c.Key.Len() == 2 && (section(c.Key) == "folders" || section(c.Key) == "devices")
	if c.implied || member && !c.send.Exists() { // guardTable decides about the removal of folders and devices.
		return ""
	}
	root := part{place: place{from: c.From, to: c.send, after: after}, change: c, want: c.To}
	for i := range c.Key.Len() {
		root.names = append(root.names, c.Key.At(i).Name)
	}
	if member && !c.From.Exists() {
		root.defaults = g.startOf(c.Key, after)
	}
	return g.whyAuthorsAt(root)
}

func (g guard) whyAuthorsAt(p part) string {
	if p.starts() || g.widened(p.names) {
		return ""
	}
	row, listed := reachOf(p.names)
	inside := p.parts()
	reason := notInTable
	switch {
	case row.inside && !(hasNames(p.from) && hasNames(p.to)):
		reason, row.inside = beyond, false
	case listed && row.why != nil:
		reason = row.why(g, p.place)
	case listed, len(inside) > 0:
		reason = ""
	}
	byAdmins := g.adminsDecide
	if row.inside {
		byAdmins = g.adminsDecidePresence
	}
	if reason != "" && !byAdmins(p) {
		return g.heldForAdmin(p, reason)
	}
	if listed && !row.inside {
		return ""
	}
	for _, each := range inside {
		if why := g.whyAuthorsAt(each); why != "" {
			return why
		}
	}
	return ""
}

// starts reports whether a new member may have this value although nobody asks for it.
func (p part) starts() bool {
	return p.to.Exists() && slices.ContainsFunc(p.defaults, p.to.Equal)
}

const notInTable = "authors may not set it"

// heldForAdmin returns the reason why a place waits for an admin, with the command that lets authors set it.
func (g guard) heldForAdmin(p part, reason string) string {
	switch isPath := strings.HasPrefix(reason, itsPath); {
	case isPath && strings.Contains(reason, outsideRoots):
		return reason + g.adminsMay(p.place, "adds a root: muster folder-roots add "+quoted(p.to.Str()))
	case isPath:
		return reason + g.adminsMay(p.place)
	case len(p.names) > p.change.Key.Len():
		reason = keyOf(p.names).String() + ": " + reason
	}
	return reason + g.adminsMay(p.place, "lets authors set it: muster author-keys add "+quoted(keyOf(p.names).String()))
}

// parts returns the places inside an object, or inside a list whose members all have IDs, that the change affects. Any
// other value is judged as a whole.
func (p part) parts() (inside []part) {
	if !hasNames(p.from) || !hasNames(p.to) {
		return nil
	}
	seen := map[string]bool{}
	for _, v := range []stconfig.Value{p.to, p.from} {
		for name := range named(v) {
			next := part{place: place{names: append(slices.Clip(p.names), name), from: member(p.from, name),
				to: member(p.to, name), after: p.after}, change: p.change, want: member(p.want, name)}
			if seen[name] || same(next.from, next.to) {
				continue
			}
			seen[name] = true
			for _, start := range p.defaults {
				next.defaults = append(next.defaults, member(start, name))
			}
			inside = append(inside, next)
		}
	}
	return inside
}

// hasNames reports whether a key can name each part of a value: the value is an object, or a list whose members all
// have different IDs. It is also true for Absent, which has no parts.
func hasNames(v stconfig.Value) bool {
	switch v.Kind() {
	case stconfig.Object:
		return true
	case stconfig.Array:
		seen := map[string]bool{"": true}
		for m := range v.Values() {
			id := identityOf(m)
			if seen[id] {
				return false
			}
			seen[id] = true
		}
		return true
	}
	return !v.Exists()
}

func same(a, b stconfig.Value) bool {
	return a.Exists() == b.Exists() && (!a.Exists() || a.Equal(b))
}

// startOf returns the values that a new folder or device may start with although nobody asks for them. These are the
// daemon's present `defaults`, the `defaults` that admins want, and the values that the daemon forces in such a
// member.
func (g guard) startOf(key stconfig.Key, after stconfig.Value) (starts []stconfig.Value) {
	kind := strings.TrimSuffix(section(key), "s")
	add := func(doc stconfig.Value) {
		start := doc.Get("defaults").Get(kind)
		for _, asked := range []string{"id", "path", "devices", "deviceID"} { // A template always names these.
			start = start.Without(asked)
		}
		starts = append(starts, start)
	}
	add(g.observed)
	if wanted := g.desired.Get("defaults").Get(kind); !same(wanted, g.observed.Get("defaults").Get(kind)) {
		add(g.admins())
	}
	forced := starts[0]
	for _, f := range stconfig.ForcesIn(after, key) {
		forced = stconfig.ReplaceAt(key, forced, f.Key, f.Keep)
	}
	return append(starts, forced)
}

// adminsDecide reports whether admins alone are responsible for the value at a place. There are two such cases. The
// templates that admins saved result in this value also without all other templates. Or the place returns to its base
// value, and only admins' templates ever asked for it (adminsLetGo).
func (g guard) adminsDecide(p part) bool {
	doc := g.admins()
	if !doc.Exists() || !same(p.want, p.in(doc)) {
		return false
	}
	return !same(p.want, p.in(g.base)) || g.adminsLetGo(p)
}

// adminsDecidePresence reports, by the rules of adminsDecide, whether admins alone are responsible for the presence or
// the absence of a member. The contents of the member do not matter.
func (g guard) adminsDecidePresence(p part) bool {
	doc := g.admins()
	if !doc.Exists() || p.want.Exists() != p.in(doc).Exists() {
		return false
	}
	return p.want.Exists() != p.in(g.base).Exists() || g.adminsLetGo(p)
}

// in returns the value that a document has at the place.
func (p part) in(doc stconfig.Value) stconfig.Value {
	v := stconfig.Lookup(doc, p.change.Key)
	for _, name := range p.names[p.change.Key.Len():] {
		v = member(v, name)
	}
	return v
}

// adminsLetGo reports whether only templates of admins (Facts.ByAdmin) ask for the place or asked for it before, and
// at least one does or did. If so, a place that returns to its base value does so because of admins alone.
func (g guard) adminsLetGo(p part) bool {
	why := g.why(keyOf(p.names))
	for _, id := range slices.Concat(why.Templates, why.Before) {
		if g.facts.ByAdmin == nil || !g.facts.ByAdmin(id) {
			return false
		}
	}
	return len(why.Templates)+len(why.Before) > 0
}

// widened reports whether an admin let authors set the key with these names, or a key above it.
func (g guard) widened(names []string) bool {
	return slices.ContainsFunc(g.facts.AuthorKeys, func(text string) bool {
		key, err := stconfig.ParseKey(text)
		if err != nil || key.IsRoot() || key.Len() > len(names) {
			return false
		}
		for i := range key.Len() {
			if at := key.At(i); !at.Every && !strings.EqualFold(at.Name, names[i]) {
				return false
			}
		}
		return true
	})
}

// adminsMay returns the end of the reason why a change waits for an admin: the templates that ask for it, and what
// an admin can do. more lists further steps that an admin can take here.
func (g guard) adminsMay(p place, more ...string) string {
	do := append([]string{"consents", "saves the template with a change in its text"}, more...)
	who := "no template of an admin asks for it by itself"
	switch authors := g.why(keyOf(p.names)).Authors; {
	case len(authors) == 1 && authors[0] == 0:
		who, do[1] = "this template is not an admin's", "saves the template"
	case len(authors) == 1 && len(g.othersVars(authors[0])) > 0:
		who = fmt.Sprintf("template %d reads vars that were not last saved by an admin (%s)", authors[0],
			strings.Join(g.othersVars(authors[0]), "; "))
		do[1] = "saves the vars with a change"
	case len(authors) == 1:
		who = fmt.Sprintf("template %d was not last saved by an admin", authors[0])
	case len(authors) > 1:
		who = fmt.Sprintf("templates %s were not last saved by an admin", listed(authors))
		do[1] = "saves the templates with a change in each text"
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

// quoted returns a text as an argument for a shell.
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
