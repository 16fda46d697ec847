package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"muster/internal/fleet"
)

// A person at the command line knows no paths of the API. That every hint with one has a subject is tested where hints
// are written.
func TestEverySubjectOfAnErrorHasACommandThatShowsIt(t *testing.T) {
	all := parsers{}
	for _, subject := range subjects(t) {
		for _, id := range []string{"", "MZJU2GB-VHZXVXF-6OWRI3X-KYSAOIQ-5PVYMDQ-X4H6UMB-4BTKYQC-RLTFLQD"} {
			text := commandToSee(fleet.Reference{Subject: subject, ID: id})
			found := printedCommand.FindAllStringSubmatch(text, -1)
			if len(found) == 0 || strings.Contains(text, "{}") || strings.Contains(text, "-VHZXVXF") {
				t.Errorf("%s: got %q, want a command", subject, text)
			}
			for _, command := range found {
				if err := all.parse(t, shellWords(t, command[1], t.TempDir())); err != nil {
					t.Errorf("%s: muster %s: %v", subject, command[1], err)
				}
			}
		}
	}
	if got := commandToSee(fleet.Reference{Subject: "later"}); got != "" {
		t.Errorf("got %q for a subject of a later server", got)
	}
}

// subjects are those that errors may have.
func subjects(t *testing.T) (all []fleet.Subject) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../fleet/reference.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if l, is := n.(*ast.BasicLit); is && l.Kind == token.STRING {
			text, _ := strconv.Unquote(l.Value)
			all = append(all, fleet.Subject(text))
		}
		return true
	})
	if len(all) < 20 {
		t.Errorf("there are only %v", all)
	}
	return all
}

// A hint for programs was printed beside a command that a person can type.
func TestAHintNamesTheCommandForItsSubject(t *testing.T) {
	request := regexp.MustCompile(`\b(GET|PUT|POST|DELETE) `)
	for _, e := range []*fleet.Error{
		{Code: fleet.CodeNotFound, Message: "no such device", Hint: "GET /api/v1/devices lists all; PUT registers one.",
			See: fleet.Reference{Subject: fleet.SeeDevices}},
		{Code: fleet.CodeConflict, Message: "another plan", Hint: "GET /api/v1/devices/x/plan, and apply that one.",
			See: fleet.Reference{Subject: fleet.SeeDevicePlan, ID: "x"}},
	} {
		if got := hintFor(e, nil); request.MatchString(got) || !strings.Contains(got, "`muster ") {
			t.Errorf("got %q", got)
		}
	}
	if got := hintFor(&fleet.Error{Hint: "Mend it."}, nil); got != "Mend it." {
		t.Errorf("got %q", got)
	}
}

// textOf is the text of an expression.
func textOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.BinaryExpr:
		return textOf(e.X) + textOf(e.Y)
	}
	return "X"
}
