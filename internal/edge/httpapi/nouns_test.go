package httpapi

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// typeOf is the type of the handlers of a noun.
func typeOf(noun Noun) reflect.Type {
	t := reflect.TypeOf(noun)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// The routes of a noun that is not in everyNoun would be in no server and in no document.
func TestEveryNounHasItsRoutesInTheServer(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	withRoutes := regexp.MustCompile(`(?m)^func \((?:s )?\*?(\w+)\) routes\(`)
	var want, got []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range withRoutes.FindAllStringSubmatch(string(text), -1) {
			want = append(want, found[1])
		}
	}
	for _, noun := range everyNoun() {
		got = append(got, typeOf(noun).Name())
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("everyNoun has %q, and there are %q", got, want)
	}
}

// A noun that app forgets would answer 503 in every server.
func TestAppGivesEveryNounWhatItCalls(t *testing.T) {
	text, err := os.ReadFile("../../app/api.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, noun := range everyNoun() {
		handlers := typeOf(noun)
		calls := slices.ContainsFunc(reflect.VisibleFields(handlers), func(f reflect.StructField) bool {
			return f.IsExported() && len(f.Index) == 1
		})
		if calls && !strings.Contains(string(text), "httpapi."+handlers.Name()+"{") {
			t.Errorf("app gives no %s", handlers.Name())
		}
	}
}
