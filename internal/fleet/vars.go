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

// Vars are values that people keep for a device, or for the devices with a tag. Templates read them as device.vars.
// They are a JSON object with sorted names and no blanks, "" where it is empty: equal values are equal texts.
type Vars string

const (
	MaxVars       = 64       // names in one object
	MaxVarsBytes  = 16 << 10 // of one object
	MaxTagVars    = 1 << 20  // bytes of the objects of all tags together: a device may carry any number of tags
	maxVarName    = 64       // bytes
	maxVarNesting = 16
	maxVarsNamed  = 3 // in a text for a person, of one owner
)

var varName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// ParseVars checks the values by name. Names are those that Starlark has: device.vars.NAME reads one.
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

// nesting is how deep objects and lists are in each other.
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

// canonicalVars is the one text for these values. Numbers stay as they were written.
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
	err := encoder.Encode(sorted) // names of maps are sorted
	return Vars(strings.TrimSuffix(b.String(), "\n")), err
}

// Values are the vars by name, never nil.
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

// Differences names what differs from earlier vars, without the values.
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

// VarsOwner is what vars belong to: a device, or a tag where Device is "".
type VarsOwner struct {
	Device DeviceID
	Tag    Tag
}

// String is for people.
func (o VarsOwner) String() string {
	if o.Device == "" {
		return fmt.Sprintf("tag %q", o.Tag)
	}
	return "device " + string(o.Device)
}

// SavedVars are vars with who saved them last.
type SavedVars struct {
	Vars      Vars
	SavedBy   string
	SavedRole Role
}

// byOthers tells whether anybody below admin decided them.
func (s SavedVars) byOthers() bool { return s.Vars != "" && s.SavedRole != RoleAdmin }

// VarsOwnedBy are those of one device or tag.
func (r *Registry) VarsOwnedBy(of VarsOwner) SavedVars {
	if of.Device == "" {
		return r.TagVars[of.Tag]
	}
	if device := r.Devices[of.Device]; device != nil {
		return device.Vars
	}
	return SavedVars{}
}

// EffectiveVar is one var that a device has, and whose it is.
type EffectiveVar struct {
	Value json.RawMessage
	From  VarsOwner
}

// EffectiveVars are the vars of a device by name: those of its tags in the order of the tags' names, then its own. The
// last one wins.
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

// VarsOf are the vars that templates read of a device.
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

// VarsByAdmins tells whether admins decided all that templates read of a device's vars.
func (r *Registry) VarsByAdmins(id DeviceID) bool {
	byAdmins := true
	r.eachVars(id, func(_ VarsOwner, saved SavedVars) { byAdmins = byAdmins && !saved.byOthers() })
	return byAdmins
}

// OthersVars names the vars of a device that anybody below admin decided, with the device or tag that sets them, as
// `rate of tag "office"`. Other vars of the same owner count as decided by the same person.
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

// eachVars gives the vars that are not empty, the last word last.
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

// VarsChange is other vars of a device or tag.
type VarsChange struct {
	VarsOwner
	SavedVars
}
