package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// hintsElsewhere are hints that no refusal here has, by their beginning, and why.
var hintsElsewhere = map[string]string{
	"An administrator makes a new one with `muster login-link NAME`": "a page in the browser shows it",
	"As an admin, delete it (`muster secret delete NAME`)":           byAnotherProgram,
	"Ask an administrator to accept or reject some":                  byAgent,
	"Ask an administrator to accept the device (`muster":             byAnotherProgram,
	"Ask an administrator to type `muster enrollment accept":         byAgent,
	"Change the device_id":                                           byAnotherProgram,
	"Change the user's groups at the provider":                       byProvider,
	"Check that `muster agent` runs":                                 "the state of a device whose agent is away has it; see test/tunnel",
	"Delete it and make it again; `muster audit verify`":             byAnotherProgram,
	"Have an administrator look at `muster audit verify`":            byAnotherProgram,
	"Look at what `muster audit verify` finds":                       byAnotherProgram,
	"Name the last entry that `muster audit list` shows":             byAnotherProgram,
	"Pin its certificate first: `muster device trust":                byAnotherProgram,
	"Run `muster enroll` on the daemon's machine, or compare":        "the state of a device that discovery found has it; see test/discovery",
	"Start with an empty home folder":                                "the server does not start",
	"Syncthing makes itself another":                                 "TestCommandsOfEachCauseRun has it",
	"Type `muster audit verify`.":                                    byAnotherProgram,
	"Type `muster audit verify`, and find out what else":             byAnotherProgram,
	"Type `muster login` again":                                      byProvider,
	"Use a token of an administrator: `muster token":                 byProvider,
	"`muster folder get FOLDER` shows how it stands":                 "more devices than copies are proven on would have to share a folder",
	"`muster status` and the server's log say":                       "the server would have to be at its end",
}

const (
	byAnotherProgram = "another program would have to write to the database; see test/audit"
	byAgent          = "an agent prints it; the test of the manual runs agents"
	byProvider       = "a provider of single sign-on would have to take part; see test/signon"
)

// eachHintWasGiven fails the test for a hint in the sources that names a command, and that no refusal had.
func (f *causesFleet) eachHintWasGiven() {
	f.Helper()
	unused := maps.Clone(hintsElsewhere)
	for text, where := range f.hintsInSources() {
		parts := strings.Split(text, unknownText)
		for i, part := range parts {
			parts[i] = regexp.QuoteMeta(part)
		}
		pattern := regexp.MustCompile(strings.Join(parts, ".*"))
		begins, is := beginningOf(text, hintsElsewhere)
		switch given := slices.ContainsFunc(f.hints, pattern.MatchString); {
		case given && is:
			f.Errorf("%s: a refusal has the hint %q: take it off the table", where, text)
		case !given && !is:
			f.Errorf("%s: no refusal has the hint %q", where, text)
		}
		delete(unused, begins)
	}
	for begins := range unused {
		f.Errorf("no source has a hint that begins with %q", begins)
	}
}

// unknownText replaces a part of a text that is not in the source.
const unknownText = "\x00"

// hintsInSources are the hints of errors that name a command, and where they stand. Those of programs that no server
// is asked by are left out.
func (f *causesFleet) hintsInSources() map[string]string {
	f.Helper()
	files := map[string][]*ast.File{} // by directory
	err := filepath.WalkDir("../../internal", func(path string, entry fs.DirEntry, err error) error {
		dir := filepath.ToSlash(filepath.Dir(path))
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
			strings.HasSuffix(dir, "edge/cli") || strings.HasSuffix(dir, "adapter/agent") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		files[dir] = append(files[dir], file)
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	hints := map[string]string{}
	for dir, all := range files {
		values := source{}
		for _, file := range all {
			ast.Inspect(file, values.note)
		}
		for _, file := range all {
			ast.Inspect(file, func(n ast.Node) bool {
				for _, hint := range hintsAt(n) {
					if text := values.textOf(hint); strings.Contains(text, "`muster ") {
						hints[text] = dir
					}
				}
				return true
			})
		}
	}
	if len(hints) < 50 {
		f.Errorf("there are only %d hints in the sources", len(hints))
	}
	return hints
}

// hintsAt are the values that a node gives to a field Hint.
func hintsAt(n ast.Node) (hints []ast.Expr) {
	switch n := n.(type) {
	case *ast.KeyValueExpr:
		if name, is := n.Key.(*ast.Ident); is && name.Name == "Hint" {
			hints = append(hints, n.Value)
		}
	case *ast.AssignStmt:
		for i, to := range n.Lhs {
			if field, is := to.(*ast.SelectorExpr); is && field.Sel.Name == "Hint" && len(n.Rhs) == len(n.Lhs) {
				hints = append(hints, n.Rhs[i])
			}
		}
	}
	return hints
}

// source are the values of the names in a package.
type source map[string]ast.Expr

func (s source) note(n ast.Node) bool {
	if values, is := n.(*ast.ValueSpec); is && len(values.Values) == len(values.Names) {
		for i, name := range values.Names {
			s[name.Name] = values.Values[i]
		}
	}
	return true
}

// textOf is the text of an expression as far as the source says it.
func (s source) textOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.BinaryExpr:
		return s.textOf(e.X) + s.textOf(e.Y)
	case *ast.Ident:
		if value := s[e.Name]; value != nil {
			return s.textOf(value)
		}
	case *ast.CallExpr:
		if called, is := e.Fun.(*ast.SelectorExpr); is && called.Sel.Name == "Sprintf" {
			return verb.ReplaceAllString(s.textOf(e.Args[0]), unknownText)
		}
	}
	return unknownText
}

var verb = regexp.MustCompile(`%[a-z]`)
