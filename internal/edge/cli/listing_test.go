package cli

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"muster/internal/edge/httpapi"
)

// alsoLists are the commands that list things and are not called list, nor begin their help with it.
var alsoLists = map[string]bool{
	"muster audit changes": true, "muster versions": true, "muster waiting": true,
	"muster folder copies": true,
}

// isListing reports whether a command lists things.
func isListing(node *kong.Node) bool {
	return node.Name == "list" || strings.HasPrefix(node.Help, "List ") || alsoLists[node.FullPath()]
}

// Each listing was exported to a spreadsheet by a script of its own where a command did not take -o csv.
func TestEveryListingIsPrintedForSpreadsheetsAndPrograms(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	address := startSamples(t)
	listings := 0
	var walk func(node *kong.Node)
	walk = func(node *kong.Node) {
		for _, child := range node.Children {
			walk(child)
		}
		if len(node.Children) > 0 || !isListing(node) {
			return
		}
		listings++
		t.Run(node.FullPath(), func(t *testing.T) { printsList(t, node, address) })
	}
	walk(allNodes(t))
	if listings < 30 {
		t.Errorf("only %d commands were tried", listings)
	}
}

func printsList(t *testing.T, node *kong.Node, address string) {
	args := strings.Fields(node.FullPath())[1:]
	for _, positional := range node.Positional {
		if positional.Required {
			args = append(args, sampleArgument(positional.Name))
		}
	}
	for _, flag := range node.Flags {
		if flag.Name == "server" {
			args = append(args, "--server", address, "--token", "x")
		}
	}
	code, out, errs := run(t, append(args, "-o", "json")...)
	if code != exitDone || !json.Valid([]byte(out)) {
		t.Errorf("-o json gave %d and\n%s%s", code, out, errs)
	}
	code, out, errs = run(t, append(args, "-o", "csv")...)
	lines, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if code != exitDone || err != nil {
		t.Errorf("-o csv gave %d, %v and\n%s%s", code, err, out, errs)
	}
	for _, line := range lines {
		for _, cell := range line {
			if strings.HasPrefix(cell, "=") {
				t.Errorf("a spreadsheet would carry out the cell %q", cell)
			}
		}
	}
}

func sampleArgument(name string) string {
	switch name {
	case "device", "devices":
		return idLaptop
	case "number", "id", "rollout", "order":
		return "1"
	}
	return formulaText
}

// formulaText is a text that a spreadsheet would take for a formula.
const formulaText = "=sample"

// samples answers as the document of the API describes it. Each list has one member.
type samples struct {
	schemas map[string]any
	paths   []samplePath
}

type samplePath struct {
	pattern *regexp.Regexp
	schema  any
}

var inBraces = regexp.MustCompile(`\\\{[^}]*\\\}`)

func startSamples(t *testing.T) (address string) {
	t.Helper()
	var document struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(httpapi.OpenAPIDocument(), &document); err != nil {
		t.Fatal(err)
	}
	s := samples{schemas: document.Components.Schemas}
	for path, operations := range document.Paths {
		var get struct {
			Responses map[string]struct {
				Content map[string]struct{ Schema any }
			}
		}
		if operations["get"] == nil {
			continue
		}
		if err := json.Unmarshal(operations["get"], &get); err != nil {
			t.Fatal(err)
		}
		pattern := "^" + inBraces.ReplaceAllString(regexp.QuoteMeta(path), "[^/]+") + "$"
		s.paths = append(s.paths, samplePath{regexp.MustCompile(pattern),
			get.Responses["200"].Content["application/json"].Schema})
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return server.URL
}

func (s samples) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	best := samplePath{}
	for _, path := range s.paths { // "tags/overview" is no tag of "tags/{tag}".
		if path.pattern.MatchString(r.URL.Path) && (best.pattern == nil || placeholders(path) < placeholders(best)) {
			best = path
		}
	}
	if best.pattern == nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(s.of("", best.schema, 0))
}

func placeholders(path samplePath) int { return strings.Count(path.pattern.String(), "[^/]+") }

const deepest = 12 // objects within objects: a schema may name itself

// of returns a value of a schema. name is that of the field that has it.
func (s samples) of(name string, schema any, depth int) any {
	of, _ := schema.(map[string]any)
	if ref, is := of["$ref"].(string); is {
		return s.of(name, s.schemas[ref[strings.LastIndexByte(ref, '/')+1:]], depth+1)
	}
	if words, is := of["enum"].([]any); is {
		return words[len(words)-1]
	}
	kind, _ := of["type"].(string)
	if kinds, is := of["type"].([]any); is {
		kind, _ = kinds[0].(string)
	}
	switch {
	case depth > deepest:
		return nil
	case kind == "array":
		return []any{s.of(name, of["items"], depth+1)}
	case kind == "object":
		return s.object(of, depth)
	case kind == "integer", kind == "number":
		return 1
	case kind == "boolean":
		return true
	case of["format"] == "date-time", name == "since", strings.HasSuffix(name, "At"):
		return "2026-01-31T08:00:00Z"
	case name == "deviceID":
		return idLaptop
	case kind == "string":
		return formulaText
	}
	return map[string]any{"any": formulaText}
}

func (s samples) object(schema map[string]any, depth int) map[string]any {
	value := map[string]any{}
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		value[name] = s.of(name, property, depth+1)
	}
	if more, is := schema["additionalProperties"].(map[string]any); is {
		value["one"] = s.of("one", more, depth+1)
	}
	return value
}
