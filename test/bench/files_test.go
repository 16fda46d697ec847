package bench

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"muster/internal/adapter/seal"
	"muster/internal/adapter/store"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
)

const (
	fileTemplates  = 200
	fileAssertions = 200
	recorded       = 20 // configurations of daemons beside the files
)

// commandLine runs the binary that people run.
type commandLine struct {
	b      *testing.B
	binary string
	env    []string
	server *server.Server
}

// newCommandLine builds the binary: the start of the test binary is another one.
func newCommandLine(b *testing.B, s *server.Server) commandLine {
	b.Helper()
	home := b.TempDir()
	binary := filepath.Join(home, "muster")
	if out, err := exec.Command("go", "build", "-o", binary, "muster/cmd/muster").CombinedOutput(); err != nil {
		b.Fatalf("go build: %v\n%s", err, out)
	}
	return commandLine{b, binary, append(os.Environ(), "MUSTER_SERVER="+s.URL, "MUSTER_TOKEN="+s.Token, "HOME="+home), s}
}

// cost is what a command took. The processor time of its children is in it.
type cost struct{ wall, client, server time.Duration }

func (c cost) String() string {
	return fmt.Sprintf("%.2f s (processor: command %.2f s, server %.2f s)", c.wall.Seconds(), c.client.Seconds(),
		c.server.Seconds())
}

// run runs a command whose output is thrown away.
func (c commandLine) run(exits int, args ...string) cost {
	c.b.Helper()
	command := exec.CommandContext(c.b.Context(), c.binary, args...)
	command.Env, command.Stdout = c.env, io.Discard
	var wrong strings.Builder
	command.Stderr = &wrong
	before, began := usageOf(c.b, c.server.PID()).cpu, time.Now()
	err := command.Run()
	wall := time.Since(began)
	if command.ProcessState == nil || exits != anyExit && command.ProcessState.ExitCode() != exits {
		c.b.Fatalf("muster %s: %v, want the exit code %d\n%s", strings.Join(args, " "), err, exits, wrong.String())
	}
	return cost{wall, command.ProcessState.UserTime() + command.ProcessState.SystemTime(),
		usageOf(c.b, c.server.PID()).cpu - before}
}

// profiled keeps a profile of the server meanwhile, when one is asked for.
func (c commandLine) profiled(exits int, args ...string) (used cost) {
	c.b.Helper()
	profile(c.b, c.server, "command-"+args[0], func() { used = c.run(exits, args...) })
	return used
}

const (
	anyExit     = -1 // the exit code depends on the fleet
	exitDiffers = 5
)

// BenchmarkFiles: the command line lists the devices of a fleet with 200 templates, plans and exports it as files, and
// tests 200 assertions without a server. The yardsticks are a command that asks nothing and a bare GET of all devices.
func BenchmarkFiles(b *testing.B) {
	for b.Loop() {
		_, places := startFarm(b)
		home := seedHome(b, places)
		seedTemplates(b, home, places)
		s := server.Start(b, server.Options{Home: home})
		waitOnline(b, s, len(places))
		awaitIdle(b, s)
		muster, dir := newCommandLine(b, s), filepath.Join(b.TempDir(), "fleet")
		export := muster.profiled(0, "export", dir)

		bare := took(func() { fetch(b, s, "/api/v1/devices") })
		nothing := muster.run(0, "--help")
		say("%d devices, %d templates; a command that asks nothing: %v, a bare GET of all devices: %v", len(places),
			fileTemplates, nothing, bare.Round(time.Millisecond))
		show := func(most time.Duration, what string, used cost) {
			judge(used.wall < most, "%s: %v, %.1f times the two (goal: less than %v)", what, used,
				ratio(used.wall, bare+nothing.wall), most)
		}
		show(2*time.Second, "device list", muster.profiled(0, "device", "list"))
		show(2*time.Second, "status", muster.profiled(anyExit, "status"))
		show(time.Second, "device get", muster.run(0, "device", "get", "device 0"))
		show(time.Second, "why", muster.profiled(0, "why", "device 0", "options.maxSendKbps"))
		show(2*time.Second, "plan of files that change nothing", muster.run(0, "plan", "-f", dir))
		write(b, filepath.Join(dir, "templates", "t0.hjson"), fileTemplate(0, 5))
		show(2*time.Second, fmt.Sprintf("plan of a template of %d devices", (len(places)+fileTemplates-1)/fileTemplates),
			muster.profiled(exitDiffers, "plan", "-f", dir))
		show(5*time.Second, "export", export)
		show(time.Second, fmt.Sprintf("test of %d assertions", fileAssertions), muster.run(0, "test", "-f", writeTests(b)))
		s.Stop()
	}
}

// seedTemplates adds 200 templates, each for its share of the devices. They ask for what the daemons have, so that the
// server rests while a command is measured.
func seedTemplates(b *testing.B, home string, places []place) {
	b.Helper()
	key, err := seal.FromHome(home)
	if err != nil {
		b.Fatal(err)
	}
	s, err := store.Open(b.Context(), store.Options{Home: home, Seal: key})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var edit fleet.Edit
	for i, d := range places {
		edit.Tag = append(edit.Tag, fleet.Tagging{Tag: fleet.Tag(fileTag(i)), Device: d.ID})
	}
	for i := range fileTemplates {
		template := fleet.Template{Label: fmt.Sprint("t", i), Op: fleet.OpSet, Key: "options.maxSendKbps", Text: "0\n"}
		edit.New = append(edit.New, fleet.TaggedTemplate{Template: template, Tags: []fleet.Tag{fleet.Tag(fileTag(i))}})
	}
	if _, err := s.ApplyEdit(b.Context(), edit, fleet.Basis{}); err != nil {
		b.Fatal(err)
	}
	registry, err := s.Registry(b.Context())
	if err == nil { // else they would be rolled out
		_, err = s.PutRollouts(b.Context(), fleet.RolloutWrite{Settled: registry})
	}
	if err != nil {
		b.Fatal(err)
	}
}

// writeFleet writes a fleet as files: each device has one of the templates.
func writeFleet(b *testing.B, dir string, places []place) {
	b.Helper()
	write(b, filepath.Join(dir, "fleet.hjson"), fleetFile(places))
	for i := range fileTemplates {
		write(b, filepath.Join(dir, "templates", fmt.Sprintf("t%d.hjson", i)), fileTemplate(i, 1000+i))
	}
}

func fleetFile(places []place) string {
	var text strings.Builder
	text.WriteString("{\n  source: bench\n  devices: {\n")
	for i, d := range places {
		fmt.Fprintf(&text, "    %q: {label: %q, tags: [%q, %q]}\n", d.ID, fmt.Sprint("device ", i), allTag, fileTag(i))
	}
	text.WriteString("  }\n}\n")
	return text.String()
}

func fileTag(i int) string { return fmt.Sprint("group", i%fileTemplates) }

func fileTemplate(i, value int) string {
	return fmt.Sprintf("# key: options.maxSendKbps, tags: %s\n%d\n", fileTag(i), value)
}

// writeTests writes a fleet of a few devices with recorded configurations, all templates, and assertions.
func writeTests(b *testing.B) (dir string) {
	b.Helper()
	dir = b.TempDir()
	farm, err := stsim.New(stsim.Options{Count: recorded, Seed: 4, Folders: farmFolders(), Network: 94, Quiet: true})
	if err != nil {
		b.Fatal(err)
	}
	defer farm.Close()
	var places []place
	for i, d := range farm.Daemons() {
		places = append(places, place{ID: d.ID()})
		write(b, filepath.Join(dir, "tests", "configs", fmt.Sprintf("device %d.json", i)), string(d.Config().JSON()))
	}
	writeFleet(b, dir, places)
	var tests strings.Builder
	tests.WriteString("[\n")
	for i := range fileAssertions {
		fmt.Fprintf(&tests, "  {name: \"limit %d\", device: \"device %d\", expect: {\"options.maxSendKbps\": %d}}\n",
			i, i%recorded, 1000+i%recorded)
	}
	tests.WriteString("]\n")
	write(b, filepath.Join(dir, "tests", "limits.hjson"), tests.String())
	return dir
}

func write(b *testing.B, path, text string) {
	b.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		b.Fatal(err)
	}
}
