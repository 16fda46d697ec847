package fleet

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestVarsAreOneTextForEqualValues(t *testing.T) {
	a, errA := ParseVars(map[string]json.RawMessage{
		"b": json.RawMessage(`{"z": 1, "a": [true, null]}`), "a": json.RawMessage(`123456789012345678901234567890`)})
	b, errB := ParseVars(map[string]json.RawMessage{
		"a": json.RawMessage(`123456789012345678901234567890`), "b": json.RawMessage(`{"a":[true,null],"z":1}`)})
	want := Vars(`{"a":123456789012345678901234567890,"b":{"a":[true,null],"z":1}}`)
	if errA != nil || errB != nil || a != want || b != want {
		t.Errorf("got %s (%v) and %s (%v), want %s", a, errA, b, errB, want)
	}
	if none, err := ParseVars(nil); err != nil || none != "" || len(none.Values()) != 0 {
		t.Errorf("none are %q, %v", none, err)
	}
}

func TestVarsThatAreTooManyTooLargeTooDeepOrMisnamedAreRefused(t *testing.T) {
	many := map[string]json.RawMessage{}
	for i := range MaxVars + 1 {
		many[fmt.Sprint("v", i)] = json.RawMessage(`1`)
	}
	for name, values := range map[string]map[string]json.RawMessage{
		"too many":  many,
		"too large": {"x": json.RawMessage(`"` + strings.Repeat("x", MaxVarsBytes) + `"`)},
		"too deep":  {"x": json.RawMessage(strings.Repeat("[", 5000) + strings.Repeat("]", 5000))},
		"a blank":   {"": json.RawMessage(`1`)}, "a digit": {"1x": json.RawMessage(`1`)},
		"a dot": {"a.b": json.RawMessage(`1`)}, "long": {strings.Repeat("x", 65): json.RawMessage(`1`)},
		"the same but for case": {"Path": json.RawMessage(`1`), "path": json.RawMessage(`2`)},
	} {
		if vars, err := ParseVars(values); CodeOf(err) != CodeInvalid {
			t.Errorf("%s: got %.40s, %v", name, vars, err)
		}
	}
}

// An admin's template may do what an author's may not. An author who sets the vars that it reads decides what it does.
func TestAnAuthorReachedFurtherByTheVarsOfAnAdminsTemplate(t *testing.T) {
	reading := Inputs{Known: true, Device: FactsNamed([]string{"vars"})}
	r := &Registry{Devices: map[DeviceID]*Registered{"A": {Tags: []Tag{"t"}}}, TagVars: map[Tag]SavedVars{},
		Templates: []TaggedTemplate{
			{Template: Template{ID: 1, SavedRole: RoleAdmin, Reads: reading}, Tags: []Tag{"t"}},
			{Template: Template{ID: 2, SavedRole: RoleAdmin, Reads: Inputs{Known: true, Device: "label"}}, Tags: []Tag{"t"}},
			{Template: Template{ID: 3, SavedRole: RoleAdmin}, Tags: []Tag{"t"}}, // what it reads is not known
		}}
	byAdmin := func() (saved [3]bool) {
		for i, t := range r.TemplatesOf("A") {
			saved[i] = t.SavedByAdmin()
		}
		return saved
	}
	for role, want := range map[Role][3]bool{RoleAdmin: {true, true, true}, RoleAuthor: {false, true, false},
		"": {false, true, false}} {
		r.TagVars["t"] = SavedVars{Vars: `{"x":1}`, SavedRole: role}
		if got := byAdmin(); got != want {
			t.Errorf("with vars by %q the templates count as an admin's: %v, want %v", role, got, want)
		}
		r.TagVars["t"] = SavedVars{}
		if got := byAdmin(); got != [3]bool{true, true, true} {
			t.Errorf("without vars they count as an admin's: %v", got)
		}
	}
}

func TestADifferenceNamesOnlyTheVarsThatDiffer(t *testing.T) {
	d := VarsDifference{Before: `{"changed":1,"gone":true,"same":[]}`, After: `{"changed":2,"new":"x","same":[]}`}
	var got []string
	for _, v := range d.Each() {
		got = append(got, fmt.Sprintf("%s %s>%s", v.Name, v.Before, v.After))
	}
	if want := "changed 1>2, gone true>, new >\"x\""; strings.Join(got, ", ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
