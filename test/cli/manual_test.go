package cli

import (
	"bufio"
	"bytes"
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"muster/client"
	"muster/internal/stsim"
	"muster/test/simulated"
	"muster/test/wait"
)

// page is how the commands of one page of the manual are run: in their order, against a server of the page's own, by a
// shell, with y as the answer to each question. What a reader puts in the place of an example is put there.
type page struct {
	name    string
	devices []string // labels of simulated daemons that are registered
	tags    map[string]string
	setUp   func(*reader)
	before  map[string]func(*reader) // what has come true by itself, or a reader did, before a command with this beginning
	flags   string                   // of the server
	types   map[string]string        // what a reader types at a terminal and a test gives by flags
	codes   map[string]int           // exit codes other than 0, by the beginning of the command
	until   map[string]string        // of a command that goes on: what it prints when it is at work
	not     map[string]string        // what cannot be run here, by the beginning of the command, and why
}

// reader runs the commands of a page.
type reader struct {
	*testing.T
	page
	*client.Client
	dir     string // where they are typed; HOME, too
	url     string
	token   string
	agents  string // the line for other machines that the server printed
	serving *going
	farm    *stsim.Farm

	stdin   string
	puts    []string // what stands in the page, and what is typed in its place
	ran     int
	excused map[string]bool
	atWork  []*going
}

const commandLimit = 2 * time.Minute

var (
	ofProgram = regexp.MustCompile(`^ {4,8}(?:\$ |(?:# )?(?:(?:bin/)?muster [a-z-]|(?:apt|nano|systemctl|make|podman|` +
		`openssl|age-keygen|cp) |\(umask )).*$`)
	shellFence  = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")
	otherFences = regexp.MustCompile("(?ms)^```.*?^```\n")
)

// typedIn are the commands of a page, as they stand there.
func typedIn(text string) (commands []string) {
	text = strings.ReplaceAll(text, "\\\n", " ")
	text = shellFence.ReplaceAllStringFunc(text, func(block string) string {
		var lines strings.Builder
		for line := range strings.Lines(shellFence.FindStringSubmatch(block)[1]) {
			lines.WriteString("    " + line)
		}
		return lines.String()
	})
	for line := range strings.Lines(otherFences.ReplaceAllString(text, "")) {
		if found := ofProgram.FindStringSubmatch(strings.TrimRight(line, "\n")); found != nil {
			command, _, _ := strings.Cut(strings.TrimLeft(found[0], " $#"), " # ")
			command = strings.TrimPrefix(strings.Join(strings.Fields(command), " "), "bin/")
			if !slices.Contains(commands, command) {
				commands = append(commands, command)
			}
		}
	}
	return commands
}

// Every command of the manual does what its page says, in the order of the page.
func TestTheCommandsOfTheManual(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{"recipes": true} // which has a test of its own
	for _, p := range pages() {
		known[p.name] = true
		t.Run(p.name, func(t *testing.T) { runPage(t, p) })
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if base := strings.TrimSuffix(filepath.Base(name), ".md"); len(typedIn(string(text))) > 0 && !known[base] {
			t.Errorf("the page %s has commands, and none is run: add it to pages", base)
		}
	}
}

func runPage(t *testing.T, p page) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/" + p.name + ".md")
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{T: t, page: p, dir: t.TempDir(), excused: map[string]bool{}}
	for _, folder := range []string{"etc/muster", "var/backups/muster", "var/lib"} {
		if err := os.MkdirAll(filepath.Join(r.dir, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	commands := typedIn(string(text))
	if len(p.not) < len(commands) {
		r.serve()
	}
	if p.setUp != nil {
		p.setUp(r)
	}
	for _, command := range commands {
		r.run(command)
	}
	for _, table := range []map[string]string{p.not, p.until} {
		for begins := range table {
			if !slices.ContainsFunc(commands, func(c string) bool { return strings.HasPrefix(c, begins) }) {
				t.Errorf("the page has no command %q any more: take it off the table", begins)
			}
		}
	}
	for begins := range maps.Keys(p.before) {
		if !slices.ContainsFunc(commands, func(c string) bool { return strings.HasPrefix(c, begins) }) {
			t.Errorf("the page has no command %q any more: take it off before", begins)
		}
	}
	if r.ran+len(r.excused) != len(commands) {
		t.Errorf("%d commands, %d ran, %d cannot", len(commands), r.ran, len(r.excused))
	}
}

// serve starts the server of the page, as its reader does, and registers the devices.
func (r *reader) serve() {
	r.Helper()
	const serve = "muster serve --listen 127.0.0.1:0 --agent-listen 127.0.0.1:0"
	r.serving = r.begin(serve+diskOff+r.flags, "    muster agent ")
	r.agents = strings.TrimSpace(r.serving.line("    muster agent "))
	wait.Until(r, func() string {
		if r.serving.line("Muster is ready: ") != "" {
			return ""
		}
		return "the server does not print its address"
	})
	r.url = strings.Fields(strings.TrimPrefix(r.serving.line("Muster is ready: "), "Muster is ready: "))[0]
	text, err := os.ReadFile(filepath.Join(r.dir, ".local/share/muster/admin-token"))
	if err != nil {
		r.Fatal(err)
	}
	r.token = strings.TrimSpace(string(text))
	if r.Client, err = client.New(r.url, r.token); err != nil {
		r.Fatal(err)
	}
	r.puts = []string{agentLine, r.agents, "--listen :2525", "--listen 127.0.0.1:0", "https://muster.example:2525", r.url,
		"/etc/muster", r.dir + "/etc/muster",
		"/var/backups", r.dir + "/var/backups", "/var/lib", r.dir + "/var/lib"}
	if len(r.devices) == 0 {
		return
	}
	r.farm = simulated.Start(r, stsim.Options{Count: len(r.devices), Folders: 1, Quiet: true, Network: networkOf(r.name)})
	for i, label := range r.devices {
		r.register(r.farm.Daemon(i), label)
		if tag := r.tags[label]; tag != "" {
			if _, err := r.TagDevice(r.Context(), string(r.farm.Daemon(i).ID()), tag); err != nil {
				r.Fatal(err)
			}
		}
	}
}

// diskOff keeps the trouble of a nearly full disk, which agents report of the disk under the test, out of the answers.
const diskOff = " --trouble-off diskNearlyFull"

// agentLine is how pages show the line that the server prints.
const agentLine = "muster agent --server https://muster.example:2525 --fingerprint sha256:2f7c…"

// networkOf gives each page addresses of its own.
func networkOf(name string) int {
	return 200 + slices.IndexFunc(pages(), func(p page) bool { return p.name == name })
}

// run runs a command, unless it is excused.
func (r *reader) run(command string) {
	r.Helper()
	if begins, is := beginningOf(command, r.not); is {
		if r.not[begins] == "" {
			r.Errorf("%q is left out without a reason", begins)
		}
		r.excused[command] = true
		return
	}
	r.stdin = strings.Repeat("y\n", 3)
	if begins, is := beginningOf(command, r.before); is {
		r.before[begins](r)
	}
	r.ran++
	begins, _ := beginningOf(command, r.types)
	typed := strings.NewReplacer(r.puts...).Replace(command + r.types[begins])
	if begins, is := beginningOf(command, r.until); is {
		r.begin(typed, r.until[begins])
		return
	}
	begins, _ = beginningOf(command, r.codes)
	r.typed(typed, r.codes[begins])
}

// beginningOf is the longest key of a table with which a command begins.
func beginningOf[T any](command string, table map[string]T) (begins string, is bool) {
	for key := range table {
		if strings.HasPrefix(command, key) && len(key) >= len(begins) {
			begins, is = key, true
		}
	}
	return begins, is
}

// put has a text of the page stand for another one.
func (r *reader) put(pairs ...string) { r.puts = append(pairs, r.puts...) }

// typed runs what a person types, and gives what is printed.
func (r *reader) typed(command string, code int) string {
	r.Helper()
	out, errs, got := r.execute(command)
	if got != code {
		r.Errorf("%s\nends with %d, not %d:\n%s%s", command, got, code, out, errs)
	}
	return out
}

func (r *reader) execute(command string) (out, errs string, code int) {
	ctx, cancel := context.WithTimeout(r.Context(), commandLimit)
	defer cancel()
	shell := r.shell(ctx, command)
	var stdout, stderr bytes.Buffer
	shell.Stdin, shell.Stdout, shell.Stderr = strings.NewReader(r.stdin), &stdout, &stderr
	shell.WaitDelay = time.Second // what the shell started may hold its output
	_ = shell.Run()
	return stdout.String(), stderr.String(), shell.ProcessState.ExitCode()
}

func (r *reader) shell(ctx context.Context, command string) *exec.Cmd {
	shell := exec.CommandContext(ctx, "sh", "-c", command) //nolint:gosec // what the manual says
	shell.Dir = r.dir
	shell.Env = append(os.Environ(), "HOME="+r.dir, "XDG_RUNTIME_DIR="+r.dir, "XDG_CONFIG_HOME=", "XDG_DATA_HOME=",
		"XDG_STATE_HOME=", "MUSTER_DISCOVERY_SERVER=none", "MUSTER_SERVER="+r.url, "TERM=dumb")
	if strings.Contains(command, "muster serve") && r.url != "" { // another one than that of the page
		shell.Env = append(shell.Env, "MUSTER_HOME="+r.dir+"/another", "MUSTER_LISTEN=127.0.0.1:0")
	}
	return shell
}

// going is a command that goes on.
type going struct {
	process *exec.Cmd
	ended   chan struct{}

	mu    sync.Mutex // guards lines
	lines []string
}

// begin starts a command and waits until it prints a text.
func (r *reader) begin(command, text string) *going {
	r.Helper()
	g := &going{process: r.shell(context.Background(), "exec "+command), ended: make(chan struct{})}
	out, err := g.process.StdoutPipe()
	if err != nil {
		r.Fatal(err)
	}
	g.process.Stderr = g.process.Stdout
	if err := g.process.Start(); err != nil {
		r.Fatal(err)
	}
	r.Cleanup(g.stop)
	r.atWork = append(r.atWork, g)
	go func() {
		defer close(g.ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			g.mu.Lock()
			g.lines = append(g.lines, lines.Text())
			g.mu.Unlock()
		}
		_ = g.process.Wait()
	}()
	wait.Until(r, func() string {
		if g.line(text) != "" {
			return ""
		}
		select {
		case <-g.ended:
			r.Fatalf("%s\nhas ended and did not print %q:\n%s", command, text, g.all())
		default:
		}
		return command + " does not print " + text + ":\n" + g.all()
	})
	return g
}

// line is the first line that holds a text.
func (g *going) line(text string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.IndexFunc(g.lines, func(line string) bool { return strings.Contains(line, text) }); i >= 0 {
		return g.lines[i]
	}
	return ""
}

func (g *going) all() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return strings.Join(g.lines, "\n")
}

// stop ends it as Ctrl-C does.
func (g *going) stop() {
	_ = g.process.Process.Signal(syscall.SIGTERM)
	<-g.ended
}

// stopLast ends what was begun last.
func (r *reader) stopLast() { r.atWork[len(r.atWork)-1].stop() }

// write makes a file where the commands are typed.
func (r *reader) write(name, text string) {
	r.Helper()
	if !filepath.IsAbs(name) {
		name = filepath.Join(r.dir, name)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
}
