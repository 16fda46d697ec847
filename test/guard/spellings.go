package guard

import (
	"fmt"
	"strings"

	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Case is one template that would do harm, and what becomes of it.
type Case struct {
	Name     string
	At       string // key that must stay as it is; "" for all
	Class    plan.Class
	MayFail  bool // the template may be an error instead, which stops the whole device
	Harmless bool // there is more in it, which does no harm and is sent
	Op       fleet.Op
	Key      string
	Text     string // the template's body
	Spelling string
	Language string
}

// Cases are all threats in all spellings, and all losses, in both languages.
func Cases(s Scene) ([]Case, error) {
	cases, err := s.spelled(Threats)
	if err != nil {
		return nil, err
	}
	for _, loss := range Losses {
		what := loss.What
		if what == "" {
			what = "everything"
		}
		value, key := s.fill(loss.Value), s.fill(loss.Key)
		cases = append(cases, inLanguages(Case{Name: what + " goes", At: s.fill(loss.What), Class: loss.Class, Op: loss.Op,
			Key: key, MayFail: loss.Class == "" || loss.Key == "",
			Spelling: fmt.Sprintf("%s %q %s", loss.Op, loss.Key, loss.Value)}, value)...)
	}
	return cases, nil
}

// AuthorCases are the threats that are free for admins, in all spellings and both languages.
func AuthorCases(s Scene) ([]Case, error) { return s.spelled(AuthorThreats) }

// spelled are threats in all spellings and both languages.
func (s Scene) spelled(threats []Threat) (cases []Case, err error) {
	for _, threat := range threats {
		threat.Key, threat.Value = s.fill(threat.Key), s.fill(threat.Value)
		for _, spelling := range spellings {
			op, key, json, err := spelling.say(s, threat)
			if err != nil {
				return nil, fmt.Errorf("%s, %s: %w", threat.Name, spelling.name, err)
			}
			c := Case{Name: threat.Name, At: threat.Key, Class: threat.Class, Op: op, Key: key, Spelling: spelling.name,
				MayFail: op == fleet.OpAppend || op == fleet.OpRemove, Harmless: op == fleet.OpSet && threat.spreads(key)}
			cases = append(cases, inLanguages(c, json)...)
		}
	}
	return cases, nil
}

// inLanguages is a case in both languages.
func inLanguages(c Case, json string) []Case {
	cases := make([]Case, len(languages))
	for i, language := range languages {
		cases[i] = c
		cases[i].Language, cases[i].Text = language.name, language.write(json)
		cases[i].Name = strings.Join([]string{c.Name, c.Spelling, language.name}, "/")
	}
	return cases
}

var languages = []struct {
	name  string
	write func(json string) string
}{
	{"hjson", func(json string) string { return json }},
	{"starlark", func(json string) string {
		return "def template():\n    return json.decode('''" + strings.ReplaceAll(json, `\`, `\\`) + "''')\n"
	}},
}

// spelling is one way to say a threat: an op, a key and JSON.
type spelling struct {
	name string
	say  func(s Scene, t Threat) (op fleet.Op, key, json string, err error)
}

var spellings = []spelling{
	{"set at the exact key", func(s Scene, t Threat) (fleet.Op, string, string, error) {
		whole, err := s.whole(t)
		return fleet.OpSet, t.Key, string(whole.JSON()), err
	}},
	{"merge at the exact key", func(_ Scene, t Threat) (fleet.Op, string, string, error) {
		return fleet.OpMerge, t.Key, t.Value, nil
	}},
	{"merge in other letters", func(_ Scene, t Threat) (fleet.Op, string, string, error) {
		return fleet.OpMerge, shout(t.Key), t.Value, nil
	}},
	{"merge at the parent", func(_ Scene, t Threat) (fleet.Op, string, string, error) {
		key, json := above(t, 1)
		return fleet.OpMerge, key, json, nil
	}},
	{"merge at the parent in other letters", func(_ Scene, t Threat) (fleet.Op, string, string, error) {
		key, json := above(t, 1)
		last := t.Key[strings.LastIndexByte(t.Key, '.')+1:]
		return fleet.OpMerge, shout(key), strings.Replace(json, `"`+last+`"`, `"`+strings.ToUpper(last)+`"`, 1), nil
	}},
	{"set at the parent, everything else as it is", func(s Scene, t Threat) (fleet.Op, string, string, error) {
		key, err := stconfig.ParseKey(t.Key)
		if err != nil {
			return "", "", "", err
		}
		whole, err := s.whole(t)
		parent := stconfig.Lookup(s.Doc, key.Parent()).With(key.At(key.Len()-1).Name, whole)
		return fleet.OpSet, key.Parent().String(), string(parent.JSON()), err
	}},
	{"merge at the root", func(_ Scene, t Threat) (fleet.Op, string, string, error) {
		key, json := above(t, len(t.Key))
		return fleet.OpMerge, key, json, nil
	}},
	{"set at the root", func(s Scene, t Threat) (fleet.Op, string, string, error) {
		key, err := stconfig.ParseKey(t.Key)
		if err != nil {
			return "", "", "", err
		}
		whole, err := s.whole(t)
		return fleet.OpSet, "", string(stconfig.Replace(s.Doc, key, whole).Without("version").JSON()), err
	}},
	{"append at the root", func(_ Scene, t Threat) (fleet.Op, string, string, error) {
		key, json := above(t, len(t.Key))
		return fleet.OpAppend, key, json, nil
	}},
	{"every member", func(_ Scene, t Threat) (fleet.Op, string, string, error) {
		return fleet.OpMerge, strings.NewReplacer(Folder, "*", string(Peer), "*").Replace(t.Key), t.Value, nil
	}},
	{"remove", func(_ Scene, t Threat) (fleet.Op, string, string, error) { return fleet.OpRemove, t.Key, `true`, nil }},
}

// spreads tells a whole document whose folders start from the defaults in it.
func (t Threat) spreads(key string) bool {
	return key == "" && t.Key == "defaults.folder.versioning"
}

// whole is the threat's value, an object with the fields of the one that is there.
func (s Scene) whole(t Threat) (stconfig.Value, error) {
	value, err := stconfig.Parse([]byte(t.Value))
	if err != nil {
		return value, err
	}
	key, err := stconfig.ParseKey(t.Key)
	if err != nil {
		return value, err
	}
	if now := stconfig.Lookup(s.Doc, key); now.Kind() == stconfig.Object {
		for name, member := range value.Members() {
			now = now.With(name, member)
		}
		value = now
	}
	return value, nil
}

// above says a threat at a parent that is so many levels up; at most at the root.
func above(t Threat, levels int) (key, json string) {
	parts := strings.Split(t.Key, ".")
	json = t.Value
	for levels > 0 && len(parts) > 0 {
		name := parts[len(parts)-1]
		parts = parts[:len(parts)-1]
		levels--
		_, noDevice := fleet.ParseDeviceID(name)
		switch {
		case noDevice == nil:
			json = `[` + strings.Replace(json, "{", `{"deviceID": "`+name+`", `, 1) + `]`
		case name == Folder:
			json = `[` + strings.Replace(json, "{", `{"id": "`+name+`", `, 1) + `]`
		default:
			json = fmt.Sprintf(`{%q: %s}`, name, json)
		}
	}
	return strings.Join(parts, "."), json
}

// shout changes the letters of the names that are the daemon's, not of a folder's identity.
func shout(key string) string {
	parts := strings.Split(key, ".")
	for i, part := range parts {
		if part != Folder {
			parts[i] = strings.ToUpper(part)
		}
	}
	return strings.Join(parts, ".")
}
