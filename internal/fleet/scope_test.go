package fleet

import (
	"slices"
	"testing"
)

func TestAScopeCoversDevicesThatShareATagWithIt(t *testing.T) {
	whole, two := Scope{}, ScopeOf([]Tag{"b", "a", "b"})
	if !whole.Whole() || whole.Tags() != nil || ScopeOf(nil) != whole || ScopeOf([]Tag{"a", "b"}) != two ||
		!slices.Equal(two.Tags(), []Tag{"a", "b"}) || two.String() != "a, b" {
		t.Errorf("got %v and %v", whole, two)
	}
	for _, test := range []struct {
		scope Scope
		tags  []Tag
		want  bool
	}{
		{whole, nil, true}, {whole, []Tag{"x"}, true},
		{two, nil, false}, {two, []Tag{"x"}, false}, {two, []Tag{"x", "b"}, true}, {two, []Tag{"a\x00b"}, false},
		{NoDevices, nil, false}, {NoDevices, []Tag{"a"}, false}, {NoDevices, []Tag{""}, false},
	} {
		if got := test.scope.Covers(test.tags); got != test.want {
			t.Errorf("%v covers %q: got %t", test.scope, test.tags, got)
		}
	}
	if NoDevices.Whole() || ScopeOf([]Tag{""}) != NoDevices {
		t.Error("no device is the whole fleet")
	}
}
