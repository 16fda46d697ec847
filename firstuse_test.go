package muster_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// firstUse is what tells a person that a certificate was trusted on first use.
var firstUse = regexp.MustCompile(`(?i)\bfirst use\b|somebody on the way`)

// The sentence about trust on first use ended nearly every reason. It is where a person asks for the trust of a device,
// on the command line and in the console, and in no reason.
func TestTrustOnFirstUseIsToldOnceWhereItBelongs(t *testing.T) {
	told := map[string]int{}
	for path, texts := range textsIn(t, "internal", "api", "client") {
		for _, text := range texts {
			if firstUse.MatchString(text) {
				told[path]++
			}
		}
	}
	want := "internal/edge/cli/devicetrust.go" // `muster device trust`
	if len(told) != 1 || told[want] != 1 {
		t.Errorf("trust on first use is told in %v, want it once in %s: a reason is about the present state", told, want)
	}
	var pages []string
	each(t, "web/src", func(path string) {
		if strings.HasSuffix(path, ".test.ts") || !slices.Contains([]string{".ts", ".tsx"}, filepath.Ext(path)) {
			return
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "trusted on first use") {
			pages = append(pages, path)
		}
	})
	if !slices.Equal(pages, []string{"web/src/pages/devices/tabs/Settings.tsx"}) {
		t.Errorf("the console tells it in %v", pages)
	}
}

func each(t *testing.T, root string, do func(path string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			do(filepath.ToSlash(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// textsIn returns the texts of Go programs by file. Literals that are added up are one text.
func textsIn(t *testing.T, roots ...string) map[string][]string {
	t.Helper()
	texts := map[string][]string{}
	for _, root := range roots {
		each(t, root, func(path string) {
			if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(node ast.Node) bool {
				expression, ok := node.(ast.Expr)
				if !ok {
					return true
				}
				text, isText := textOf(expression)
				if isText {
					texts[path] = append(texts[path], text)
				}
				return !isText
			})
		})
	}
	if len(texts) < 100 {
		t.Fatalf("only %d files have texts", len(texts))
	}
	return texts
}

func textOf(expression ast.Expr) (text string, ok bool) {
	switch e := expression.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, isText := textOf(e.X)
		right, areBoth := textOf(e.Y)
		return left + right, e.Op == token.ADD && isText && areBoth
	}
	return "", false
}
