// Package outside_test builds the program of the manual's page "A program in Go" in a module of its own, and runs it.
//
//muster:needs daemons
package outside_test

import (
	"bufio"
	"fmt"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"

	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

func TestMain(m *testing.M) {
	server.Main()
	m.Run()
}

// pageOfProgram is the number of devices that the program reads at a time.
const pageOfProgram = 100

func TestTheProgramOfTheManualListsChangesAndWatches(t *testing.T) {
	program := build(t)
	const stores = pageOfProgram + 1
	daemons := simulated.Start(t, stsim.Options{Count: 1 + stores, Seed: 29, Folders: 1, Quiet: true}).Daemons()
	d := daemons[0]
	s := server.Start(t, server.Options{})
	s.Register(d.ID(), d.APIKey(), d.Host(), d.Port(), "office")
	for _, store := range daemons[1:] {
		s.Register(store.ID(), store.APIKey(), store.Host(), store.Port(), "store")
	}
	run := func(args ...string) *exec.Cmd {
		command := exec.CommandContext(t.Context(), program, args...)
		command.Env = append(os.Environ(), "MUSTER_SERVER="+s.URL, "MUSTER_TOKEN="+s.Token)
		command.Stderr = os.Stderr
		return command
	}
	output := func(args ...string) string {
		text, err := run(args...).Output()
		if err != nil {
			t.Fatalf("%v: %v", args, err)
		}
		return string(text)
	}
	if listed := output("list", "office"); !strings.HasPrefix(listed, string(d.ID())+" ") {
		t.Errorf("list printed %q", listed)
	}
	if listed := output("list", "nobody"); listed != "" {
		t.Errorf("list of a tag without devices printed %q", listed)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(output("list", "store")) {
		id, _, _ := strings.Cut(line, " ")
		listed[id] = true
	}
	for _, store := range daemons[1:] {
		if !listed[string(store.ID())] {
			t.Fatalf("list of %d devices on two pages printed %d, without %s", stores, len(listed), store.ID())
		}
	}
	watching := run("watch", "office")
	printed := start(t, watching)
	if line := <-printed; line != "watching" {
		t.Fatalf("watch printed %q first", line)
	}
	if made := output("limit", "office", "250"); !strings.HasPrefix(made, "template ") {
		t.Errorf("limit printed %q", made)
	}
	for line := range printed {
		if line == "plan "+string(d.ID()) {
			break
		}
	}
	wait.For(t, "the daemon has the limit", func() bool {
		return d.Config().Get("options").Get("maxSendKbps").Str() == "250"
	})
	if err := watching.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for range printed {
	}
	if err := watching.Wait(); err != nil {
		t.Errorf("watch ended with %v", err)
	}
}

// start starts a command and gives the lines that it prints.
func start(t *testing.T, command *exec.Cmd) <-chan string {
	t.Helper()
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(out); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	return lines
}

// build builds the program of the page as its reader does, and returns its path.
func build(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/client.md")
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	module := strings.Replace(block(t, string(page), "text\n"), "../muster", root, 1)
	write(t, folder, "go.mod", "module example.com/fleet-limit\n\ngo 1.26\n\n"+module)
	source := block(t, string(page), "go\n")
	if !strings.Contains(source, fmt.Sprintf("Page: %d}", pageOfProgram)) {
		t.Errorf("the program does not read %d devices at a time", pageOfProgram)
	}
	write(t, folder, "main.go", source)
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, folder, "go.sum", string(sums)) // as tidy writes it, without asking anybody
	command := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", "-o", "program", ".")
	command.Dir = folder
	if text, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return filepath.Join(folder, "program")
}

// block is the first block of code of a page that begins so, after the three backticks.
func block(t *testing.T, page, language string) string {
	t.Helper()
	_, rest, begins := strings.Cut(page, "\n```"+language)
	text, _, ends := strings.Cut(rest, "\n```\n")
	if !begins || !ends {
		t.Fatalf("the page has no block that begins with %q", language)
	}
	return text + "\n"
}

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// A caller outside the repository can name each type that the client gives and takes.
func TestNoTypeOfTheClientIsInternal(t *testing.T) {
	needs := packages.NeedName | packages.NeedTypes | packages.NeedExportFile
	loaded, err := packages.Load(&packages.Config{Mode: needs}, "muster/client", "muster/api")
	if err != nil || len(loaded) != 2 {
		t.Fatalf("got %d packages, %v", len(loaded), err)
	}
	for _, pkg := range loaded {
		scope := pkg.Types.Scope()
		seen := map[types.Type]bool{}
		for _, name := range scope.Names() {
			if object := scope.Lookup(name); object.Exported() {
				walk(object.Type(), seen, func(of *types.TypeName) {
					if of.Pkg() != nil && strings.Contains(of.Pkg().Path(), "/internal/") {
						t.Errorf("%s.%s shows %s", pkg.Name, name, of)
					}
				})
			}
		}
		if len(seen) < 50 {
			t.Errorf("only %d types of %s were looked at", len(seen), pkg.Name)
		}
	}
}

// walk calls found with each named type that a type shows to other packages: in exported fields, methods, parameters,
// results and elements.
func walk(of types.Type, seen map[types.Type]bool, found func(*types.TypeName)) {
	if seen[of] {
		return
	}
	seen[of] = true
	switch of := of.(type) {
	case *types.Named:
		found(of.Obj())
		for method := range of.Methods() {
			if method.Exported() {
				walk(method.Type(), seen, found)
			}
		}
		for argument := range of.TypeArgs().Types() {
			walk(argument, seen, found)
		}
		walk(of.Underlying(), seen, found)
	case *types.Alias:
		found(of.Obj())
		walk(types.Unalias(of), seen, found)
	case *types.Struct:
		for field := range of.Fields() {
			if field.Exported() {
				walk(field.Type(), seen, found)
			}
		}
	case *types.Interface:
		for method := range of.Methods() {
			walk(method.Type(), seen, found)
		}
	case *types.Signature:
		for parameter := range of.Params().Variables() {
			walk(parameter.Type(), seen, found)
		}
		for result := range of.Results().Variables() {
			walk(result.Type(), seen, found)
		}
	case *types.Map:
		walk(of.Key(), seen, found)
		walk(of.Elem(), seen, found)
	case interface{ Elem() types.Type }: // a pointer, slice, array or channel
		walk(of.Elem(), seen, found)
	}
}
