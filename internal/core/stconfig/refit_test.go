package stconfig

import "testing"

// A revision of 1.19.2 has the fields of 2.1.3 when it is restored there, and nothing but the edits in between
// differs.
func TestARestoredRevisionOfAnEarlierVersionHasTheFieldsOfThisOne(t *testing.T) {
	earlier := oldDoc()
	now := edited(t, upgraded(t, earlier), "folders.docs-7hq2.label", `"edited"`, "options.maxSendKbps", "77")
	got := map[string]bool{}
	for _, c := range Diff(now, Restorable(earlier, now)) {
		got[c.Key.String()] = true
	}
	if len(got) != 2 || !got["folders.docs-7hq2.label"] || !got["options.maxSendKbps"] {
		t.Errorf("restoring changes %v", got)
	}
}

// A folder that is gone comes back with the fields that folders have now.
func TestARestoredFolderHasTheFieldsOfThisVersion(t *testing.T) {
	earlier := oldDoc()
	upgraded := upgraded(t, earlier)
	key := mustKey(t, "folders.docs-7hq2")
	back := Lookup(Restorable(earlier, Replace(upgraded, key, Value{})), key)
	if !back.Exists() || back.Get("weakHashThresholdPct").Exists() || !back.Get("xattrFilter").Exists() {
		t.Errorf("it comes back as %s", back.JSON())
	}
	if back.Get("label").Str() != Lookup(earlier, key).Get("label").Str() {
		t.Error("it comes back with another label")
	}
}
