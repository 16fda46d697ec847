package stconfig

import (
	"slices"
	"testing"
)

func TestAKeyGoesOnWithTheNamesOfItsPlace(t *testing.T) {
	for key, want := range map[string]string{"": "options", "options": "maxSendKbps", "folders.photos": "paused",
		"folders.*.versioning": "params", "gui": "user", "folders.*.minDiskFree": "unit"} {
		parsed, err := ParseKey(key)
		if err != nil {
			t.Fatal(err)
		}
		if got := BelowOf(parsed); !slices.Contains(got.Names, want) || got.Members || !HasParts(parsed) {
			t.Errorf("%q: got %+v, want the name %s", key, got, want)
		}
	}
	for key, want := range map[string]Below{
		"folders": {Members: true}, "devices": {Members: true, Devices: true}, "options.maxSendKbps": {},
		"folders.*.devices": {Members: true, Devices: true},
	} {
		parsed, err := ParseKey(key)
		if err != nil {
			t.Fatal(err)
		}
		if got := BelowOf(parsed); got.Members != want.Members || got.Devices != want.Devices || len(got.Names) > 0 {
			t.Errorf("%q: got %+v, want %+v", key, got, want)
		}
	}
}

func TestEveryNameBelowAPlaceMakesAKey(t *testing.T) {
	var walk func(key Key)
	count := 0
	walk = func(key Key) {
		for _, name := range BelowOf(key).Names {
			child := key.Child(name)
			if parsed, err := ParseKey(child.String()); err != nil || !parsed.Equal(child) {
				t.Errorf("%s: got %s, %v", child, parsed, err)
			}
			count++
			walk(child)
		}
	}
	walk(Key{})
	if count < 100 {
		t.Errorf("only %d keys", count)
	}
}
