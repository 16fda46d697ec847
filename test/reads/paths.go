// Package reads enumerates what the API lets somebody read or write, for tests that look at every answer.
package reads

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"muster/internal/edge/httpapi"
)

// operation is what the OpenAPI document says of a GET.
type operation struct {
	Parameters []struct {
		Name, In string
		Required bool
	}
	Responses map[string]struct {
		Content map[string]any
	}
}

var parameter = regexp.MustCompile(`\{(\w+)\}`)

// Paths are the paths of every GET of the API, with each of the values in the place of a parameter. Streams, which do
// not end, are left out. A parameter without values is an error of the test: a new operation has to be looked at, too.
// Values without a parameter are an error as well.
func Paths(t testing.TB, values map[string][]string) []string {
	t.Helper()
	return Queries(t, values, nil)
}

// Queries are Paths, and each of them again with each value of a query that it may have.
func Queries(t testing.TB, values, queries map[string][]string) []string {
	t.Helper()
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(httpapi.OpenAPIDocument(), &document); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	var all []string
	for path, operations := range document.Paths {
		text, is := operations["get"]
		if !is {
			continue
		}
		var get operation
		if err := json.Unmarshal(text, &get); err != nil {
			t.Fatal(err)
		}
		if _, streams := get.Responses["200"].Content["text/event-stream"]; streams {
			continue
		}
		for _, p := range get.Parameters {
			if p.In == "query" && p.Required {
				path += map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")] + p.Name + "={" + p.Name + "}"
			}
		}
		all = append(all, filled(t, path, values, used)...)
		for _, p := range get.Parameters {
			if p.In == "query" && !p.Required && queries[p.Name] != nil {
				mark := map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")]
				both := maps.Clone(values)
				both["query"] = queries[p.Name]
				all = append(all, filled(t, path+mark+p.Name+"={query}", both, used)...)
			}
		}
	}
	for name := range values {
		if !used[name] {
			t.Errorf("no operation has a parameter %s", name)
		}
	}
	slices.Sort(all)
	return all
}

// Write is an operation of the API that is not a GET.
type Write struct{ Method, Path string }

// Writes are all operations that are not a GET, with each of the values in the place of a parameter of the path. A
// parameter without values is an error of the test: a new operation has to be looked at, too.
func Writes(t testing.TB, values map[string][]string) []Write {
	t.Helper()
	var document struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(httpapi.OpenAPIDocument(), &document); err != nil {
		t.Fatal(err)
	}
	var all []Write
	for path, operations := range document.Paths {
		for method := range operations {
			switch method = strings.ToUpper(method); method {
			case http.MethodPut, http.MethodPost, http.MethodDelete, http.MethodPatch:
				for _, one := range filled(t, path, values, map[string]bool{}) {
					all = append(all, Write{method, one})
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b Write) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(a.Method, b.Method))
	})
	return all
}

// filled puts each combination of values into a path.
func filled(t testing.TB, path string, values map[string][]string, used map[string]bool) []string {
	t.Helper()
	found := parameter.FindStringSubmatchIndex(path)
	if found == nil {
		return []string{path}
	}
	name := path[found[2]:found[3]]
	if values[name] == nil {
		t.Errorf("%s: the test has no values for {%s}", path, name)
	}
	used[name] = true
	var all []string
	for _, value := range values[name] {
		escaped := url.PathEscape(value)
		if strings.Contains(path[:found[0]], "?") {
			escaped = url.QueryEscape(value)
		}
		all = append(all, filled(t, path[:found[0]]+escaped+path[found[1]:], values, used)...)
	}
	return all
}
