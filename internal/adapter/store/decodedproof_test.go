package store

import (
	"encoding/json"
	"reflect"
	"testing"

	"muster/internal/fleet"
)

// Ends that were kept must be those that a decoder makes of their text, and a caller may change what it got.
func TestKeptProofsAreAsDecodedAndNotShared(t *testing.T) {
	t.Parallel()
	for name, ends := range map[string]fleet.AuditEnds{
		"empty":     {},
		"no tables": {FirstID: 1, Rosters: map[string]string{}, Tables: map[string]fleet.TableMark{}},
		"whole": {FirstID: 1, Before: "b", LastID: 9, LastHash: "h", Writes: 4, Rosters: map[string]string{"users": "s"},
			Tables: map[string]fleet.TableMark{"tags": {Rows: 2, Sum: "x", Entry: 7}}},
	} {
		var d decodedProofs
		plain := must(json.Marshal(ends))(t)
		var want, first, second fleet.AuditEnds
		if err := json.Unmarshal(plain, &want); err != nil {
			t.Fatal(err)
		}
		d.keepEnds(plain, ends)
		if err := d.decode(auditEnds, plain, &first); err != nil || !reflect.DeepEqual(first, want) {
			t.Errorf("%s: got %+v, %v, want %+v", name, first, err, want)
		}
		if first.Rosters != nil {
			first.Rosters["users"] = "changed"
		}
		if first.Tables != nil {
			first.Tables["tags"] = fleet.TableMark{}
		}
		if err := d.decode(auditEnds, plain, &second); err != nil || !reflect.DeepEqual(second, want) {
			t.Errorf("%s: after a caller changed its copy: got %+v, %v, want %+v", name, second, err, want)
		}
	}
	var d decodedProofs
	for _, text := range []string{`{"a":"1"}`, `{"a":"1"}`, `{"a":"2"}`} {
		var rows, want roster
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		if err := d.decode(userRows, []byte(text), &rows); err != nil || !reflect.DeepEqual(rows, want) {
			t.Errorf("%s: got %v, %v", text, rows, err)
		}
		rows["a"] = "changed"
		var other roster
		if err := d.decode(tokenRows, []byte(`{"b":"3"}`), &other); err != nil || other["b"] != "3" {
			t.Errorf("another roster: got %v, %v", other, err)
		}
	}
	if err := d.decode(userRows, []byte(`{`), &roster{}); err == nil {
		t.Error("a damaged text was decoded")
	}
}
