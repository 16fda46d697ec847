package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestHintsOfTheServerNameCommands(t *testing.T) {
	const id = "MZJU2GB-VHZXVXF-6OWRI3X-KYSAOIQ-5PVYMDQ-X4H6UMB-4BTKYQC-RLTFLQD"
	for hint, want := range map[string]string{
		"GET /api/v1/devices/" + id + "/plan, look at it, and apply that one.": "`muster apply MZJU2GB`, look at it, " +
			"and apply that one.",
		"Its state says why: GET devices/{id}/state.": "Its state says why: `muster status DEVICE`.",
		"GET /api/v1/devices/" + id + "/trust, compare it with the daemon's own, and trust that one.": "`muster device " +
			"trust MZJU2GB`, compare it with the daemon's own, and trust that one.",
		"GET /api/v1/rollouts lists all.": "`muster rollout list` lists all.",
		"GET /api/v1/devices lists all; PUT registers one.": "`muster device list` lists all; " +
			"`muster enroll` registers one.",
	} {
		if got := withCommands(hint); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A person at the command line knows no paths of the API.
func TestEveryHintOfTheServerNamesCommandsAtTheCommandLine(t *testing.T) {
	requests := regexp.MustCompile(`\b(GET|PUT|POST|DELETE) (/|[a-z]+/\{)`)
	for _, hint := range hintsIn(t, "../httpapi", "../../engine/reconcile", "../../adapter/store", "../../core/plan",
		"../../fleet", "../../engine/rollout", "../../engine/health", "../../engine/enrollment", "../auth") {
		if shown := withCommands(hint); requests.MatchString(shown) && !namesNoCommand[shown] {
			t.Errorf("a person reads %q", shown)
		}
	}
}

// namesNoCommand are hints that only programs get, because no command sends what they are about.
var namesNoCommand = map[string]bool{}

// hintsIn are the hints in the source of packages, with what is put together at run time as far as it is known.
func hintsIn(t *testing.T, folders ...string) (hints []string) {
	t.Helper()
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(folder, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if field, ok := n.(*ast.KeyValueExpr); ok {
					if key, ok := field.Key.(*ast.Ident); ok && (key.Name == "Hint" || key.Name == "Next") {
						hints = append(hints, textOf(field.Value))
					}
				}
				if call, ok := n.(*ast.CallExpr); ok {
					if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "notThere" {
						hints = append(hints, textOf(call.Args[0]))
					}
				}
				return true
			})
		}
	}
	return hints
}

// textOf is the text of an expression.
func textOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.BinaryExpr:
		return textOf(e.X) + textOf(e.Y)
	case *ast.Ident:
		if e.Name == "Prefix" {
			return "/api/v1"
		}
	case *ast.CallExpr:
		if name, ok := e.Fun.(*ast.Ident); ok && name.Name == "devicePath" {
			return "/api/v1/devices/MZJU2GB-VHZXVXF-6OWRI3X-KYSAOIQ-5PVYMDQ-X4H6UMB-4BTKYQC-RLTFLQD"
		}
	}
	return "X"
}
