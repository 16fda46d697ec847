package stconfig

import (
	"os"
	"strings"
	"testing"
)

// schemaKeys lists the places of a shape, one line "KEY KIND" each, in the order of the schema. `*` stands in for a
// member of a list, or for an entry with a free name.
func schemaKeys(s *shape, at string) (lines []string) {
	switch {
	case s.kind == Array && s.entry.kind == String:
		return []string{at + " texts"}
	case s.entry != nil:
		return schemaKeys(s.entry, at+".*")
	case s.kind != Object:
		return []string{at + " " + map[Kind]string{String: "text", Number: "number", Bool: "flag"}[s.kind]}
	}
	for _, f := range s.ordered {
		lines = append(lines, schemaKeys(f.shape, strings.TrimPrefix(at+"."+f.name, "."))...)
	}
	return lines
}

// A field that the schema gets is in this list, too: the tests of the guard visit every key of the list.
func TestTheListOfKeysHasEachKeyOfTheSchema(t *testing.T) {
	const file = "testdata/schema-keys.txt"
	got := strings.Join(schemaKeys(configuration, ""), "\n") + "\n"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs from the schema: run this test with -update, and TestEveryKeyOfTheSchemaIsJudgedForAuthors",
			file)
	}
}
