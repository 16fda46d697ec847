package desired

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// madeEntries are the records of folders that Muster made, and the document that has them.
func madeEntries(t *testing.T, folders int) ([]fleet.BaseEntry, stconfig.Value) {
	t.Helper()
	var entries []fleet.BaseEntry
	var all []string
	for i := range folders {
		folder := fmt.Sprintf(`{"id":"f%d","label":%q,"paused":false}`, i, strings.Repeat("l", largeValue))
		all = append(all, folder)
		entries = append(entries, fleet.BaseEntry{Key: fmt.Sprintf("folders.f%d", i), Kind: fleet.BaseMade,
			Written: []byte(folder)})
	}
	doc, err := stconfig.Parse([]byte(`{"folders":[` + strings.Join(all, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return entries, doc
}

// The records of a device with 900 folders took as much memory as its document, once more for each plan.
func TestRecordsShareTheMemoryOfTheDocument(t *testing.T) {
	entries, doc := madeEntries(t, 3)
	key, err := stconfig.ParseKey("folders.f1.paused")
	if err != nil {
		t.Fatal(err)
	}
	changed := stconfig.Replace(doc, key, stconfig.Boolean(true))
	records, err := load(entries, changed)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range records {
		there := stconfig.Lookup(changed, r.key)
		if isShared := r.written == there; isShared != (i != 1) { // Equality is that of the pointers to the members.
			t.Errorf("%s: shared with the document: %v", r.key, isShared)
		}
	}
	if string(records[1].written.JSON()) != string(entries[1].Written) {
		t.Errorf("the value of the document is taken for the one that Muster wrote: %s", records[1].written.JSON())
	}
}

func TestRecordsThatDidNotChangeKeepTheirText(t *testing.T) {
	entries, doc := madeEntries(t, 2)
	records, err := load(entries, doc)
	if err != nil {
		t.Fatal(err)
	}
	records[1].written = records[1].written.With("paused", stconfig.Boolean(true))
	stored := store(records)
	if &stored[0].Written[0] != &entries[0].Written[0] {
		t.Error("the text of a record that did not change is written anew")
	}
	if !bytes.Contains(stored[1].Written, []byte(`"paused":true`)) || bytes.Contains(entries[1].Written, []byte("true")) {
		t.Errorf("a changed record is %s; it was %s", stored[1].Written, entries[1].Written)
	}
}
