package muster_test

import (
	"encoding/json"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Rooms of the outer rings do not import each other: app hands each the functions and objects that it calls. These are
// the calls that app wires, from the room that calls to the room that is called. The test finds them in the source of
// app; a call that is new or gone has to be written down here.
var wired = map[string][]string{
	"internal/engine/change":     {"internal/engine/reconcile", "internal/adapter/store"},
	"internal/engine/enrollment": {"internal/engine/change", "internal/engine/policy", "internal/adapter/store"},
	"internal/engine/event":      {"internal/engine/policy", "internal/adapter/store"},
	"internal/engine/mirror": {
		"internal/adapter/discovery",
		"internal/adapter/store",
		"internal/adapter/tunnel",
	},
	"internal/engine/notify": {
		"internal/engine/enrollment", "internal/engine/health", "internal/engine/rollout", "internal/engine/view",
		"internal/adapter/store",
	},
	"internal/engine/policy": {
		"internal/engine/backup", "internal/engine/mirror", "internal/engine/notify", "internal/adapter/store",
	},
	"internal/engine/prover": {
		"internal/engine/mirror", "internal/engine/policy", "internal/engine/view", "internal/adapter/store",
	},
	"internal/engine/reconcile": {
		"internal/engine/health",
		"internal/engine/mirror",
		"internal/engine/prover",
		"internal/adapter/sandbox",
		"internal/adapter/store",
	},
	"internal/engine/revocation": {"internal/engine/mirror", "internal/adapter/store"},
	"internal/engine/rollout": {
		"internal/engine/change",
		"internal/engine/health",
		"internal/engine/mirror",
		"internal/engine/policy",
		"internal/engine/reconcile",
		"internal/adapter/store",
	},
	"internal/engine/sink":       {"internal/adapter/store"},
	"internal/adapter/seal":      {"internal/adapter/store"},
	"internal/adapter/store":     {"internal/adapter/discovery", "internal/engine/mirror"},
	"internal/adapter/syncthing": {"internal/adapter/discovery", "internal/adapter/tunnel"},
	"internal/adapter/tunnel":    {"internal/engine/enrollment", "internal/adapter/store"},
	"internal/engine/view": {
		"internal/engine/enrollment",
		"internal/engine/event",
		"internal/engine/health",
		"internal/engine/mirror",
		"internal/engine/reconcile",
		"internal/engine/rollout",
		"internal/adapter/store",
	},
}

// Pairs of rooms that call each other. No pair is to be added: one of the two rooms can give a result instead of
// calling, what it tells can be marked in app's changes, or a third room can hold what both need. The mirror keeps what
// it observes in the store; and a commit has the mirror follow at once, because the person who put a device reads what
// is known of it right after.
var callsBothWays = [][2]string{{"internal/adapter/store", "internal/engine/mirror"}}

// wiring is the typed source of a room.
type wiring struct {
	info   types.Info
	pkg    *types.Package
	bodies map[*types.Func]*ast.FuncDecl // of the room's functions
}

func TestWhatAppWiresIsWrittenDown(t *testing.T) {
	found := wiredCalls(t)
	for from, rooms := range found {
		for to := range rooms {
			if !slices.Contains(wired[from], to) {
				t.Errorf("%s calls %s by way of app: write it down in wired, or do without the call", from, to)
			}
			if found[to][from] && from < to && !slices.Contains(callsBothWays, [2]string{from, to}) {
				t.Errorf("%s and %s call each other by way of app", from, to)
			}
		}
	}
	for from, rooms := range wired {
		for _, to := range rooms {
			if !found[from][to] {
				t.Errorf("%s calls %s no longer: take it out of wired", from, to)
			}
		}
	}
	for _, pair := range callsBothWays {
		if !found[pair[0]][pair[1]] || !found[pair[1]][pair[0]] {
			t.Errorf("%s and %s no longer call each other: take them out of callsBothWays", pair[0], pair[1])
		}
	}
}

// wiredCalls finds, by room, the rooms that it calls by way of the Options that app makes for it.
func wiredCalls(t *testing.T) map[string]map[string]bool {
	t.Helper()
	w, files := load(t, "internal/app")
	found := map[string]map[string]bool{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			literal, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			named, ok := w.info.TypeOf(literal).(*types.Named)
			if !ok || !strings.HasSuffix(named.Obj().Name(), "Options") || named.Obj().Pkg() == w.pkg {
				return true
			}
			from := room(named.Obj().Pkg().Path())
			if !joined(from) {
				return true
			}
			for _, element := range literal.Elts {
				if field, ok := element.(*ast.KeyValueExpr); ok {
					for to := range w.reached(field.Value) {
						if to == from {
							continue
						}
						if found[from] == nil {
							found[from] = map[string]bool{}
						}
						found[from][to] = true
					}
				}
			}
			return true
		})
	}
	return found
}

func load(t *testing.T, room string) (*wiring, []*ast.File) {
	t.Helper()
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,Dir,GoFiles",
		"./"+room).Output()
	if err != nil {
		t.Fatal(err)
	}
	exports, fset := map[string]string{}, token.NewFileSet()
	var files []*ast.File
	for dec := json.NewDecoder(strings.NewReader(string(out))); dec.More(); {
		var pkg struct {
			ImportPath, Export, Dir string
			GoFiles                 []string
		}
		if err := dec.Decode(&pkg); err != nil {
			t.Fatal(err)
		}
		exports[pkg.ImportPath] = pkg.Export
		if pkg.ImportPath != "muster/"+room {
			continue
		}
		for _, name := range pkg.GoFiles {
			file, err := parser.ParseFile(fset, filepath.Join(pkg.Dir, name), nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
	}
	w := &wiring{bodies: map[*types.Func]*ast.FuncDecl{}}
	w.info = types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{},
		Defs: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	lookup := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", lookup)}
	if w.pkg, err = config.Check("muster/"+room, fset, files, &w.info); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok {
				w.bodies[w.info.Defs[fn.Name].(*types.Func)] = fn
			}
		}
	}
	return w, files
}

// joined tells whether a room is one of those that app joins. The edges call inward only; budget and metrics count what
// all other rooms do.
func joined(name string) bool {
	return ringOf(name) == 2 && name != "internal/engine/budget" && name != "internal/engine/metrics"
}

// reach is a search for the rooms that a value can call when it is handed to a room.
type reach struct {
	*wiring
	rooms map[string]bool
	seen  map[*types.Func]bool
}

// reached are the rooms that a value can call: methods that it names, and methods of objects in it.
func (w *wiring) reached(value ast.Expr) map[string]bool {
	r := reach{w, map[string]bool{}, map[*types.Func]bool{}}
	r.object(w.info.TypeOf(value))
	r.source(value)
	return r.rooms
}

// object adds the rooms that an object of a type can call: its own room, or those that its methods in app call.
func (r reach) object(of types.Type) {
	if pointer, ok := of.(*types.Pointer); ok {
		of = pointer.Elem()
	}
	named, ok := of.(*types.Named)
	if !ok {
		return
	}
	methods := types.NewMethodSet(types.NewPointer(named))
	for i := range methods.Len() {
		r.function(methods.At(i).Obj().(*types.Func))
	}
}

// source adds the rooms that a piece of app's source calls, itself or by functions of app.
func (r reach) source(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok {
			if fn, ok := r.info.Uses[name].(*types.Func); ok {
				r.function(fn)
			}
		}
		return true
	})
}

// function adds the room of a method, or for a function of app the rooms that its body calls.
func (r reach) function(fn *types.Func) {
	if r.seen[fn] {
		return
	}
	r.seen[fn] = true
	switch body := r.bodies[fn]; {
	case body != nil:
		r.source(body.Body)
	case fn.Pkg() != nil && fn.Signature().Recv() != nil && joined(room(fn.Pkg().Path())):
		r.rooms[room(fn.Pkg().Path())] = true // values of the inner rings call no room
	}
}
