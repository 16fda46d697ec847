package httpapi

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"muster/api"
	"muster/internal/fleet"
)

// namesRequest matches a text that names an operation of the API.
var namesRequest = regexp.MustCompile(`\b(GET|PUT|POST|DELETE) ($|/|[a-z-]+(/|\b.*\blists))|/api/v1|[ (]devices/[{%]`)

// texts are the rooms whose texts people read.
var texts = []string{".", "../auth", "../../fleet", "../../core/plan", "../../core/desired", "../../adapter/store",
	"../../adapter/syncthing", "../../adapter/discovery", "../../engine/reconcile", "../../engine/rollout",
	"../../engine/health", "../../engine/enrollment", "../../engine/change", "../../engine/view", "../../engine/mirror"}

// "GET devices/{deviceID}/state says what is in the way" stood on a page. Only the hint of an error may name
// an operation, and only with the subject by which a page says it in its own words.
func TestATextThatNamesAnOperationOfTheAPIIsAHintWithASubject(t *testing.T) {
	found := 0
	for _, folder := range texts {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %d files", folder, err, len(files))
		}
		for _, path := range files {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, path, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			hints := hintsWithSubject(file)
			ast.Inspect(file, func(n ast.Node) bool {
				if hints[n] {
					found++
					return false
				}
				if field, is := n.(*ast.Field); is && field.Tag != nil {
					return false
				}
				if l, is := n.(*ast.BasicLit); is && l.Kind == token.STRING {
					if text, err := strconv.Unquote(l.Value); err == nil && namesRequest.MatchString(text) &&
						!isNoText[text] {
						t.Errorf("%s: %q", set.Position(l.Pos()), text)
					}
				}
				return true
			})
		}
	}
	if found < 20 {
		t.Errorf("found only %d hints with a subject", found)
	}
}

// isNoText are strings that match and that nobody reads.
var isNoText = map[string]bool{Prefix: true}

// hintsWithSubject are the expressions of hints beside which there is a subject.
func hintsWithSubject(file *ast.File) map[ast.Node]bool {
	hints := map[ast.Node]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch e := n.(type) {
		case *ast.CompositeLit:
			var hint ast.Node
			see := false
			for _, element := range e.Elts {
				if pair, is := element.(*ast.KeyValueExpr); is {
					if name, is := pair.Key.(*ast.Ident); is {
						see = see || name.Name == "See"
						if name.Name == "Hint" {
							hint = pair.Value
						}
					}
				}
			}
			if see && hint != nil {
				hints[hint] = true
			}
		case *ast.CallExpr:
			if name, is := e.Fun.(*ast.Ident); is && name.Name == "notThere" {
				hints[e.Args[1]] = true
			}
		case *ast.ValueSpec:
			if e.Names[0].Name == "hintOf" { // fail adds the subject.
				hints[e] = true
			}
		}
		return true
	})
	return hints
}

func TestTheDocumentHasEverySubjectOfAProblem(t *testing.T) {
	field, _ := reflect.TypeFor[api.ProblemSubject]().FieldByName("Subject")
	listed := strings.Split(field.Tag.Get("enum"), ",")
	file, err := parser.ParseFile(token.NewFileSet(), "../../fleet/reference.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var known []string
	ast.Inspect(file, func(n ast.Node) bool {
		if l, is := n.(*ast.BasicLit); is && l.Kind == token.STRING {
			text, _ := strconv.Unquote(l.Value)
			known = append(known, text)
		}
		return true
	})
	if !reflect.DeepEqual(listed, known) {
		t.Errorf("the document has %q, and there are %q", listed, known)
	}
}

func TestAProblemHasItsSubjectForPages(t *testing.T) {
	w := newWorld(t)
	w.device(idA, "one")
	got := w.problem(404, call{method: "GET", path: Prefix + "/devices/" + string(idA) + "/status"})
	if got.See == nil || got.See.Subject != string(fleet.SeeDeviceState) {
		t.Errorf("got %+v", got)
	}
	if got := w.problem(400, call{method: "PUT", path: Prefix + "/devices/" + string(idA), body: "{"}); got.See == nil ||
		got.See.Subject != string(fleet.SeeRequest) || got.See.Says == "" {
		t.Errorf("got %+v", got)
	}
}

// formTerms match texts about the form of a request, which nobody sees who sees pages.
var formTerms = regexp.MustCompile(`\b(the body|a body|the query|parameter|the new ETag|in If-Match|` +
	`[Pp]ercent-encod\w*|JSON|the header|Link header|in the path)\b`)

// "the body has no field of a device" stood on a page.
func TestATextAboutTheFormOfARequestHasASubjectOfItsOwn(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, path := range append(files, "../../fleet/tag.go", "../../fleet/device.go", "../../fleet/token.go") {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if isAboutRequests(n) {
				return false
			}
			if l, is := n.(*ast.BasicLit); is && l.Kind == token.STRING {
				if text, err := strconv.Unquote(l.Value); err == nil && formTerms.MatchString(text) {
					t.Errorf("%s: %q", set.Position(l.Pos()), text)
				}
			}
			return true
		})
	}
}

// isAboutRequests reports whether the texts of a node are read by programmers only, or have a subject of their own.
func isAboutRequests(n ast.Node) bool {
	switch e := n.(type) {
	case *ast.Field: // Its tag is in the document.
		return e.Tag != nil
	case *ast.KeyValueExpr:
		name, is := e.Key.(*ast.Ident)
		return is && (name.Name == "summary" || name.Name == "doc")
	case *ast.FuncDecl: // What they return has the subject.
		return slices.Contains([]string{"syntaxError", "decodeData", "limitBody", "unknownParameter"}, e.Name.Name)
	case *ast.ValueSpec: // The texts of the document, and the hints to which fail adds a subject.
		return e.Names[0].Name == "hintOf" || e.Names[0].Name == "describedInPaths"
	case *ast.CallExpr:
		name, is := e.Fun.(*ast.Ident)
		return is && (name.Name == "requestf" || strings.HasSuffix(name.Name, "Param"))
	case *ast.CompositeLit:
		for _, element := range e.Elts {
			if pair, is := element.(*ast.KeyValueExpr); is {
				if name, is := pair.Key.(*ast.Ident); is && name.Name == "See" {
					return true
				}
			}
		}
	}
	return false
}

func TestEverySubjectHasWordsForPages(t *testing.T) {
	field, _ := reflect.TypeFor[api.ProblemSubject]().FieldByName("Subject")
	for subject := range strings.SplitSeq(field.Tag.Get("enum"), ",") {
		if says := saysOf[fleet.Subject(subject)]; says == "" || formTerms.MatchString(says) {
			t.Errorf("%s: %q", subject, says)
		}
	}
}
