package stconfig

import (
	"testing"
)

// upgraded is a document of 1.19.2 as 2.1.3 shows it after it was upgraded in place.
func upgraded(t *testing.T, doc Value) Value {
	t.Helper()
	later := Sample()
	doc = Migrate(doc, versionOf(later))
	for _, list := range []string{"folders", "devices"} {
		var members []Value
		for member := range doc.Get(list).Values() {
			members = append(members, reshaped(member, later.Get(list).At(0)))
		}
		doc = doc.With(list, List(members...))
	}
	for _, section := range []string{"gui", "options", "ldap"} {
		doc = doc.With(section, reshaped(doc.Get(section), later.Get(section)))
	}
	defaults := doc.Get("defaults")
	for _, name := range []string{"folder", "device"} {
		defaults = defaults.With(name, reshaped(defaults.Get(name), later.Get("defaults").Get(name)))
	}
	return doc.With("defaults", defaults)
}

// reshaped has the fields of another object of its kind, as far as there are any with its own values.
func reshaped(v, like Value) Value {
	var members []Member
	for name, other := range like.Members() {
		if mine := v.Get(name); mine.Exists() {
			other = mine
		}
		members = append(members, Member{name, other})
	}
	return Obj(members...)
}

func TestAMigrationExplainsWhatNobodyEdited(t *testing.T) {
	before := edited(t, oldDoc(), "devices.K4KRHSO-CKCSM2A-FW6WVO3-4B27H3A-62IDDET-2LWT2O6-UF2QV7Q-XDKPDAI.untrusted",
		"true")
	after := upgraded(t, before)
	m, migrated := MigrationOf(before, after)
	if !migrated {
		t.Fatal("no migration between 36 and 52")
	}
	changes := Diff(before, after)
	if len(changes) < 20 {
		t.Fatalf("an upgrade makes %d differences: the test is of no use", len(changes))
	}
	for _, c := range changes {
		if !m.Explains(c) {
			t.Errorf("%s: %s -> %s is not explained", c.Key, c.From.JSON(), c.To.JSON())
		}
	}
	if n := Lookup(after, mustKey(t, "folders.docs-7hq2.devices")).Len(); n != 1 {
		t.Errorf("a folder in clear is shared with %d devices, one of them untrusted", n)
	}
	if got := Lookup(after, mustKey(t, "folders.docs-7hq2.maxConcurrentWrites")).Str(); got != "16" {
		t.Errorf("maxConcurrentWrites is %s", got)
	}
}

func TestAMigrationExplainsNoEdit(t *testing.T) {
	const share = "folders.photos-x4kd.devices.K4KRHSO-CKCSM2A-FW6WVO3-4B27H3A-62IDDET-2LWT2O6-UF2QV7Q-XDKPDAI"
	before := oldDoc()
	after := upgraded(t, before)
	edits := edited(t, after, "folders.docs-7hq2.label", `"theirs"`, "options.maxSendKbps", "77",
		"folders.docs-7hq2.maxConcurrentWrites", "5",
		"folders.photos-x4kd.versioning.params", `{"keep":"5"}`)
	for _, member := range []string{share, "folders.docs-7hq2"} {
		for _, doc := range []Value{edits, Replace(after, mustKey(t, member), Value{})} {
			m, _ := MigrationOf(before, doc)
			for _, c := range Diff(after, doc) {
				change := Change{Key: c.Key, From: Lookup(before, c.Key), To: c.To}
				if m.Explains(change) {
					t.Errorf("%s: %s -> %s was an edit", c.Key, change.From.JSON(), c.To.JSON())
				}
			}
		}
	}
}

func TestWithoutAnotherVersionNothingIsExempt(t *testing.T) {
	before := Sample()
	if _, migrated := MigrationOf(before, Replace(before, mustKey(t, "folders.docs-7hq2.ignoreDelete"),
		Value{})); migrated {
		t.Error("a field that went was taken for a migration")
	}
}

// A daemon that is newer than the table brings fields nobody here knows, and takes others.
func TestAMigrationToAVersionThatNobodyKnows(t *testing.T) {
	before := Sample()
	folder := mustKey(t, "folders.docs-7hq2")
	after := Replace(before.With("version", Literal("60")).With("novelty", Obj()), folder,
		Lookup(before, folder).Without("copiers").With("brandNew", Obj(Member{"inner", Literal("1")})).With("label",
			Text("theirs")))
	m, migrated := MigrationOf(before, after)
	if !migrated {
		t.Fatal("no migration")
	}
	for _, c := range Diff(before, after) {
		if wants := c.Key.String() != "folders.docs-7hq2.label"; m.Explains(c) != wants {
			t.Errorf("%s: explained is %v", c.Key, !wants)
		}
	}
}

func TestAMigrationCarriesWhatWasKept(t *testing.T) {
	before := oldDoc()
	m, _ := MigrationOf(before, upgraded(t, before))
	key := mustKey(t, "folders.docs-7hq2.maxConcurrentWrites")
	for kept, want := range map[string]string{"2": "16", "5": "5"} {
		if got := m.Carry(key, Literal(kept), before); got.Str() != want {
			t.Errorf("a base of %s became %s, want %s", kept, got.Str(), want)
		}
	}
	// The cases of Syncthing's own test of this migration, and one that it rounds.
	for kept, want := range map[string]string{"60": "20", "120": "40", "25": "10", "5": "5", "100": "33"} {
		if got := m.Carry(mustKey(t, "options.reconnectionIntervalS"), Literal(kept), before); got.Str() != want {
			t.Errorf("an interval of %s s became %s, want %s", kept, got.Str(), want)
		}
	}
}
