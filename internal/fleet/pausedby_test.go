package fleet

import "testing"

// TestWhoPausedIsToldByWhatMusterWrote has a person's pause blamed on no template, whatever else the templates made.
func TestWhoPausedIsToldByWhatMusterWrote(t *testing.T) {
	yes, no := []byte("true"), []byte("false")
	made := &BaseEntry{Kind: BaseMade, Written: []byte(`{"id":"f","paused":true}`), Templates: []int64{4}}
	for name, c := range map[string]struct {
		member, field *BaseEntry
		want          bool
	}{
		"nothing was written": {},
		"Muster wrote it":     {field: &BaseEntry{Kind: BaseLeaf, Base: no, Written: yes}, want: true},
		"Muster writes it": {
			field: &BaseEntry{Kind: BaseLeaf, State: BaseSending, Base: no, Intended: yes}, want: true,
		},
		"a person overruled it":          {field: &BaseEntry{Kind: BaseLeaf, State: BaseTheirs, Base: no, Written: yes}},
		"Muster wrote false":             {field: &BaseEntry{Kind: BaseLeaf, Base: yes, Written: no}},
		"Muster puts it back":            {field: &BaseEntry{Kind: BaseLeaf, State: BaseReturned, Base: yes, Written: yes}},
		"Muster made it so":              {member: made, want: true},
		"a person paused what it made":   {member: made, field: &BaseEntry{Kind: BasePerson, Base: yes}},
		"Muster made it running":         {member: &BaseEntry{Kind: BaseMade, Written: []byte(`{"paused":false}`)}},
		"what it wrote cannot be read":   {member: &BaseEntry{Kind: BaseMade, Written: []byte(`{"paused"`)}},
		"it is made, and gone meanwhile": {member: &BaseEntry{Kind: BaseMade, State: BaseTheirs, Written: made.Written}},
	} {
		if templates, got := PausesTemplate(
			c.member,
			c.field,
		); got != c.want ||
			got && c.member == made && len(templates) != 1 {
			t.Errorf("%s: got %t, %v", name, got, templates)
		}
	}
}

func TestAnOrderIsCarriedOutOnTheDevicesItReached(t *testing.T) {
	o := Order{Devices: []DeviceID{"a", "b", "c"}, Done: 2, Skipped: []DeviceID{"b"}}
	for id, want := range map[DeviceID]bool{"a": true, "b": false, "c": false, "d": false} {
		if got := o.HasOrdered(id); got != want {
			t.Errorf("%s: got %t", id, got)
		}
	}
}
