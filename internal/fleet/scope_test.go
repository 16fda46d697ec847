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

func TestWhoMayMore(t *testing.T) {
	lab, both := ScopeOf([]Tag{"lab"}), ScopeOf([]Tag{"lab", "shop"})
	for _, c := range []struct {
		is, was User
		more    bool
	}{
		{User{Role: RoleAdmin}, User{Role: RoleViewer}, true}, {User{Role: RoleViewer}, User{Role: RoleAdmin}, false},
		{User{Role: RoleViewer}, User{Role: RoleViewer}, false},
		{User{Role: RoleViewer, Scope: both}, User{Role: RoleViewer, Scope: lab}, true},
		{User{Role: RoleViewer, Scope: lab}, User{Role: RoleViewer, Scope: both}, false},
		{User{Role: RoleViewer, Scope: lab}, User{Role: RoleViewer}, false},
		{User{Role: RoleViewer}, User{Role: RoleViewer, Scope: lab}, true},
		{User{Role: RoleViewer, Scope: NoDevices}, User{Role: RoleViewer, Scope: lab}, false},
		{User{Role: RoleViewer, Scope: lab}, User{Role: RoleViewer, Scope: NoDevices}, true},
		{User{Role: RoleOperator, Scope: lab}, User{Role: RoleViewer}, true},
	} {
		if c.is.MayMoreThan(c.was) != c.more {
			t.Errorf("%+v", c)
		}
	}
}
