package muster_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What people decide about the fleet changes by one way: an edit that internal/engine/change judged, and one write of
// the store. These tests read the source, so that no other code can make a generation.

const makesGenerations = "INSERT INTO generations"

// TestOneFunctionMakesGenerations: one statement, in one function, which one exported method of the store reaches.
func TestOneFunctionMakesGenerations(t *testing.T) {
	for path, file := range sourceFiles(t) {
		for _, decl := range file.Decls {
			name, inStore := nameOf(decl), filepath.Dir(path) == "internal/adapter/store"
			if statesSQL(decl) && (name != "makeGeneration" || !inStore) {
				t.Errorf("%s: %s makes generations: only makeGeneration of the store does", path, name)
			}
		}
	}
	w, _ := load(t, "internal/adapter/store")
	calls := map[*types.Func]map[*types.Func]bool{} // by function of the store: those of the store that it uses
	reaching := map[*types.Func]bool{}
	usesAny := func(used map[*types.Func]bool, is func(*types.Func) bool) bool {
		return slices.ContainsFunc(slices.Collect(maps.Keys(used)), is)
	}
	for fn, body := range w.bodies {
		calls[fn] = w.usedBy(body)
		if statesSQL(body) {
			reaching[fn] = true
		}
	}
	if len(reaching) != 1 {
		t.Fatalf("%q is in %d functions of the store", makesGenerations, len(reaching))
	}
	var callers, exported []string
	for grown := true; grown; {
		grown = false
		for fn, used := range calls {
			if reaching[fn] || !usesAny(used, func(f *types.Func) bool { return reaching[f] }) {
				continue
			}
			if reaching[fn], grown = true, true; fn.Exported() {
				exported = append(exported, fn.Name())
			}
			if usesAny(used, func(f *types.Func) bool { return f.Name() == "makeGeneration" }) {
				callers = append(callers, fn.Name())
			}
		}
	}
	if !slices.Equal(callers, []string{"inGeneration"}) {
		t.Errorf("makeGeneration is called by %v: only inGeneration calls it, once for each edit", callers)
	}
	if !slices.Equal(exported, []string{"ApplyEdit"}) {
		t.Errorf("%v make generations: only ApplyEdit does", exported)
	}
}

// usedBy are the functions of the room that a piece of its source calls or hands on.
func (w *wiring) usedBy(n ast.Node) map[*types.Func]bool {
	used := map[*types.Func]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok {
			if fn, ok := w.info.Uses[name].(*types.Func); ok {
				used[fn.Origin()] = true
			}
		}
		return true
	})
	return used
}

// TestOnlyChangeAppliesEdits: the store's method is called by internal/engine/change, and app hands it to nobody else.
func TestOnlyChangeAppliesEdits(t *testing.T) {
	for path, file := range sourceFiles(t) {
		if filepath.Dir(path) == "internal/engine/change" {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr: // a call, or the method as a value
				if n.Sel.Name == "ApplyEdit" {
					t.Errorf("%s applies an edit that nobody judged: hand it to change.Changes", path)
				}
			case *ast.InterfaceType: // through which the store could be handed out
				for _, method := range n.Methods.List {
					if len(method.Names) > 0 && method.Names[0].Name == "ApplyEdit" {
						t.Errorf("%s declares an interface with ApplyEdit: only internal/engine/change does", path)
					}
				}
			}
			return true
		})
	}
}

// sourceFiles are the Go files of the module that are no tests, by path. Those below test/ are tests.
func sourceFiles(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (path == "test" || entry.Name() == "node_modules"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files[path], err = parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// nameOf is the name of a function or method; "" for another declaration.
func nameOf(decl ast.Decl) string {
	if fn, ok := decl.(*ast.FuncDecl); ok {
		return fn.Name.Name
	}
	return ""
}

// statesSQL tells whether a declaration has the statement that makes generations, whatever its blanks.
func statesSQL(decl ast.Decl) (found bool) {
	ast.Inspect(decl, func(n ast.Node) bool {
		if text, ok := n.(*ast.BasicLit); ok && text.Kind == token.STRING {
			found = found || strings.Contains(strings.Join(strings.Fields(text.Value), " "), makesGenerations)
		}
		return !found
	})
	return found
}
