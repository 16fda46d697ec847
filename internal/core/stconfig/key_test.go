package stconfig

import (
	"slices"
	"strings"
	"testing"

	"muster/internal/fleet"
)

func mustKey(t testing.TB, text string) Key {
	t.Helper()
	key, err := ParseKey(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return key
}

func TestParseKeySpellsAsTheDaemonDoes(t *testing.T) {
	for written, want := range map[string]string{
		"":                            "",
		"  ":                          "",
		"OPTIONS.NATENABLED":          "options.natEnabled",
		`"GUI"."apikey"`:              "gui.apiKey",
		"Options.\u017fetLowPriority": "options.setLowPriority",
		"folders.Photos.PATH":         "folders.Photos.path",
		`folders."a.b".label`:         `folders."a.b".label`,
		`folders."plain".label`:       "folders.plain.label",
		`folders."\u0041".label`:      "folders.A.label",
		"folders.a b/c%+?#.path":      "folders.a b/c%+?#.path",
		"folders.*.devices.*":         "folders.*.devices.*",
		`folders."*".paused`:          `folders."*".paused`,
		"folders.x.devices." + strings.ToLower(strings.ReplaceAll(other, "-", "")): "folders.x.devices." + other,
		"remoteignoreddevices." + strings.ToLower(other):                           "remoteIgnoredDevices." + other,
		"folders.x.versioning.params.Keep":                                         "folders.x.versioning.params.Keep",
		"options.somethingNew":                                                     "options.somethingNew",
		"ignores.Photos":                                                           "ignores.Photos",
		"defaults.FOLDER.minDiskFree.UNIT":                                         "defaults.folder.minDiskFree.unit",
	} {
		if got := mustKey(t, written).String(); got != want {
			t.Errorf("%q: got %s, want %s", written, got, want)
		}
	}
}

func TestParseKeySaysWhereItWentWrong(t *testing.T) {
	for written, want := range map[string]struct {
		column int
		says   string
	}{
		"option.natEnabled":       {1, "did you mean options?"},
		"xyzzy":                   {1, "it has folders"},
		"*.paused":                {1, "starts with the name of a section"},
		"Version":                 {1, "belongs to the daemon"},
		"folders..path":           {9, "a name is missing"},
		"ä":                       {1, "no section"},
		`folders."ä".devices.abc`: {21, "not a device ID"},
		`folders."ä`:              {9, "closing quote"},
		`folders."a\q".path`:      {9, "escapes of JSON"},
		"gui.theme.":              {11, "a name is missing"},
		"folders.a\tb":            {10, "in quotes"},
	} {
		_, err := ParseKey(written)
		e, ok := err.(*fleet.Error)
		if !ok || e.Code != fleet.CodeInvalid || e.Details[0].Column != want.column ||
			!strings.Contains(e.Message, want.says) {
			t.Errorf("%q: got %v (%+v), want column %d and %q", written, err, e, want.column, want.says)
		}
	}
}

func TestKeysAreComparedByName(t *testing.T) {
	photos := mustKey(t, "folders.photos.paused")
	switch {
	case !photos.Equal(mustKey(t, "FOLDERS.photos.PAUSED")),
		!photos.HasPrefix(mustKey(t, "folders.photos")), photos.HasPrefix(mustKey(t, "folders.photo")),
		!photos.HasPrefix(Key{}),
		!photos.Matches(mustKey(t, "folders.*.paused")), photos.Matches(mustKey(t, "folders.*")),
		photos.HasEvery(), !mustKey(t, "folders.*").HasEvery(),
		!photos.Parent().Equal(mustKey(t, "folders.photos")), !Key{}.Parent().IsRoot(),
		!photos.Parent().NamesMember(), photos.NamesMember(), mustKey(t, "folders.*").NamesMember(), Key{}.NamesMember(),
		!mustKey(t, "defaults.folder.devices."+other).NamesMember():
		t.Fatal("keys compare wrongly")
	}
	keys := []Key{mustKey(t, `folders."*"`), mustKey(t, "folders.b"), mustKey(t, "folders.*"), mustKey(t, "folders"), {},
		mustKey(t, "folders.a.b")}
	slices.SortFunc(keys, Key.Compare)
	var got []string
	for _, key := range keys {
		got = append(got, key.String())
	}
	if want := []string{"", "folders", "folders.*", `folders."*"`, "folders.a.b", "folders.b"}; !slices.Equal(got, want) {
		t.Fatalf("got %q, want %q", got, want)
	}
}

func TestChildrenOfOneKeyDoNotShare(t *testing.T) {
	parent := mustKey(t, "folders.a")
	one, two := parent.Child("path"), parent.Child("label")
	if one.String() != "folders.a.path" || two.String() != "folders.a.label" {
		t.Fatalf("got %s and %s", one, two)
	}
}
