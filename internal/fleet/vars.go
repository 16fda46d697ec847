package fleet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Vars are values that people set for a device, or for the devices with a tag. Templates read them as device.vars.
// Their form is a JSON object with sorted names and without blanks, or "" when empty, so equal values have equal
// texts.
type Vars string

const (
	MaxVars      = 64       // number of names in one object
	MaxVarsBytes = 16 << 10 // bytes of one object
	// bytes of the objects of all tags together, because a device may have any number of tags
	MaxTagVars    = 1 << 20
	maxVarName    = 64 // bytes of one name
	maxVarNesting = 16
	maxVarsNamed  = 3 // names of one owner in a text for people
)

var varName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ParseVars checks vars given by name. A name must be an identifier of Starlark, because templates read
// device.vars.NAME.
func ParseVars(values map[string]json.RawMessage) (Vars, error) {
	if len(values) > MaxVars {
		return "", Invalidf("vars", "there are at most %d vars, these are %d", MaxVars, len(values))
	}
	folded := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if len(name) > maxVarName || !varName.MatchString(name) {
			return "", Invalidf("vars."+name,
				"%q is no name of a var: write letters, digits and _, at most %d, and no digit first", name, maxVarName)
		}
		if other, twice := folded[strings.ToLower(name)]; twice {
			return "", Invalidf("vars."+name, "%s and %s differ in upper and lower case only, which templates do not tell apart",
				other, name)
		}
		folded[strings.ToLower(name)] = name
		if nesting(values[name]) > maxVarNesting {
			return "", Invalidf("vars."+name, "%s is nested more than %d deep", name, maxVarNesting)
		}
	}
	vars, err := canonicalVars(values)
	if err != nil {
		return "", Invalidf("vars", "the vars are no JSON: %v", err)
	}
	if len(vars) > MaxVarsBytes {
		return "", Invalidf("vars", "the vars of a device or tag have at most %d bytes as JSON, these have %d", MaxVarsBytes,
			len(vars))
	}
	return vars, nil
}

// nesting returns the depth of nested objects and lists.
func nesting(text json.RawMessage) (deepest int) {
	depth := 0
	decoder := json.NewDecoder(bytes.NewReader(text))
	for {
		token, err := decoder.Token()
		if err != nil {
			return deepest
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
			deepest = max(deepest, depth)
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
}

// canonicalVars returns the canonical text of these values. Numbers keep their literal.
func canonicalVars(values map[string]json.RawMessage) (Vars, error) {
	if len(values) == 0 {
		return "", nil
	}
	sorted := map[string]any{}
	for name, text := range values {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		var value any
		if err := decoder.Decode(&value); err != nil {
			return "", err
		}
		sorted[name] = value
	}
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(sorted) // The encoder sorts the names of a map.
	return Vars(strings.TrimSuffix(b.String(), "\n")), err
}

// Values returns the vars by name. The map is never nil.
func (v Vars) Values() map[string]json.RawMessage {
	values := map[string]json.RawMessage{}
	if v == "" {
		return values
	}
	if err := json.Unmarshal([]byte(v), &values); err != nil {
		panic(fmt.Sprintf("vars that were checked are no JSON: %v", err))
	}
	return values
}

// Differences names the vars that differ from earlier vars, without their values.
func (v Vars) Differences(was Vars) string {
	var set, gone []string
	before, after := was.Values(), v.Values()
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if !bytes.Equal(before[name], after[name]) {
			set = append(set, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, there := after[name]; !there {
			gone = append(gone, name)
		}
	}
	var parts []string
	if len(set) > 0 {
		parts = append(parts, "set: "+strings.Join(set, ", "))
	}
	if len(gone) > 0 {
		parts = append(parts, "removed: "+strings.Join(gone, ", "))
	}
	return strings.Join(parts, "; ")
}

// VarsOwner is a device, or a tag when Device is "".
type VarsOwner struct {
	Device DeviceID
	Tag    Tag
}

// String names the owner in texts.
func (o VarsOwner) String() string {
	if o.Device == "" {
		return fmt.Sprintf("tag %q", o.Tag)
	}
	return "device " + string(o.Device)
}

// SavedVars are vars, and who last saved them.
type SavedVars struct {
	Vars      Vars
	SavedBy   string
	SavedRole Role
}

// SavedOver returns the vars as they are stored when they replace others. Vars of an unknown author stay so while one
// of their values stays: who changes one var was not shown the others. Who saves them again, with nothing changed,
// answers for them.
func (s SavedVars) SavedOver(before SavedVars) SavedVars {
	if before.SavedRole == "" && s.Vars != before.Vars && s.Vars.keepOneOf(before.Vars) {
		s.SavedBy, s.SavedRole = "", ""
	}
	return s
}

// keepOneOf reports whether a var has the value that it has in earlier vars.
func (v Vars) keepOneOf(was Vars) bool {
	before := was.Values()
	for name, value := range v.Values() {
		if earlier, there := before[name]; there && bytes.Equal(earlier, value) {
			return true
		}
	}
	return false
}

// byOthers reports whether somebody below admin saved them.
func (s SavedVars) byOthers() bool { return s.Vars != "" && s.SavedRole != RoleAdmin }

// VarsOwnedBy returns the vars of one device or tag.
func (r *Registry) VarsOwnedBy(of VarsOwner) SavedVars {
	if of.Device == "" {
		return r.TagVars[of.Tag]
	}
	if device := r.Devices[of.Device]; device != nil {
		return device.Vars
	}
	return SavedVars{}
}

// EffectiveVar is one var of a device, and its owner.
type EffectiveVar struct {
	Value json.RawMessage
	From  VarsOwner
}

// EffectiveVars returns the vars of a device by name. The vars of its tags apply in the order of the tags' names, then
// its own; the last value of a name wins.
func (r *Registry) EffectiveVars(id DeviceID) map[string]EffectiveVar {
	all := map[string]EffectiveVar{}
	r.eachVars(id, func(of VarsOwner, saved SavedVars) {
		for name, value := range saved.Vars.Values() {
			maps.DeleteFunc(all, func(other string, _ EffectiveVar) bool { return strings.EqualFold(other, name) })
			all[name] = EffectiveVar{value, of}
		}
	})
	return all
}

// VarsOf returns the vars of a device that templates read.
func (r *Registry) VarsOf(id DeviceID) (vars Vars) {
	owners := 0
	r.eachVars(id, func(_ VarsOwner, saved SavedVars) {
		owners++
		vars = saved.Vars
	})
	if owners < 2 {
		return vars
	}
	values := map[string]json.RawMessage{}
	for name, is := range r.EffectiveVars(id) {
		values[name] = is.Value
	}
	vars, err := canonicalVars(values)
	if err != nil {
		panic(fmt.Sprintf("vars that were checked are no JSON: %v", err))
	}
	return vars
}

// VarsByAdmins reports whether admins saved all vars of a device.
func (r *Registry) VarsByAdmins(id DeviceID) bool {
	byAdmins := true
	r.eachVars(id, func(_ VarsOwner, saved SavedVars) { byAdmins = byAdmins && !saved.byOthers() })
	return byAdmins
}

// OthersVars lists the vars of a device that somebody below admin saved, with their owner, as in `rate of tag
// "office"`. All vars of one owner count as saved by the same person.
func (r *Registry) OthersVars(id DeviceID) (named []string) {
	r.eachVars(id, func(of VarsOwner, saved SavedVars) {
		if saved.byOthers() {
			names := slices.Sorted(maps.Keys(saved.Vars.Values()))
			if more := len(names) - maxVarsNamed; more > 0 {
				names = append(names[:maxVarsNamed], fmt.Sprintf("%d more", more))
			}
			named = append(named, fmt.Sprintf("%s of %s", strings.Join(names, ", "), of))
		}
	})
	return named
}

// eachVars visits the non-empty vars of a device in the order in which they apply.
func (r *Registry) eachVars(id DeviceID, each func(VarsOwner, SavedVars)) {
	device := r.Devices[id]
	if device == nil {
		return
	}
	for _, tag := range device.Tags {
		if saved := r.TagVars[tag]; saved.Vars != "" {
			each(VarsOwner{Tag: tag}, saved)
		}
	}
	if device.Vars.Vars != "" {
		each(VarsOwner{Device: id}, device.Vars)
	}
}

// VarsChange replaces the vars of a device or tag.
type VarsChange struct {
	VarsOwner
	SavedVars
}
