package sandbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/core/template"
	"muster/internal/fleet"
)

const patience = 30 * time.Second

func evaluate(t *testing.T, p *Pool, r Request) template.Result {
	t.Helper()
	result, err := p.Evaluate(within(t, patience), r)
	if err != nil {
		t.Fatalf("%s: %v", r.Text, err)
	}
	return result
}

// ran is how many evaluations workers have been asked for: what is not in the cache.
func ran(p *Pool) int {
	p.results.mu.Lock()
	defer p.results.mu.Unlock()
	return len(p.results.items)
}

func TestEvaluate(t *testing.T) {
	p := running(t, Options{})
	all := template.NewFleet(manyDevices(3))
	config, err := stconfig.Parse(
		[]byte(`{"options":{"natEnabled":true,"big":123456789012345678901234567890},"gui":{"apiKey":"hidden"}}`),
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, text, want string }{
		{"hjson", "{a: 1e400, b: [null, true, \"x\"]}", `{"a":1e400,"b":[null,true,"x"]}`},
		{"expression", "len(devices(\"all\"))", "3"},
		{"device", "def template(device):\n  print(device.os)\n  return [device.label, device.tags]", `["me",["a","b"]]`},
		{"config", "def template(config):\n  return config.options",
			`{"natEnabled":true,"big":123456789012345678901234567890}`},
		{"config's secret", "config.gui", `{"apiKey":"${config:gui.apiKey}"}`},
		{"secret", "[secret(\"wifi\")][0]", `"${secret:wifi}"`},
		{"tags", "tags()", `["all"]`},
	} {
		t.Run(test.name, func(t *testing.T) {
			device := template.Facts{DeviceID: "X", Label: "me", Tags: []fleet.Tag{"a", "b"}, OS: "linux"}
			got := evaluate(t, p, Request{Text: test.text, Device: device, Config: config, Fleet: all,
				Secrets: []string{"wifi"}})
			if string(got.Value.JSON()) != test.want {
				t.Errorf("got %s, want %s", got.Value.JSON(), test.want)
			}
			if got.ReadsConfig != strings.Contains(test.text, "config") {
				t.Errorf("reads the configuration: %t", got.ReadsConfig)
			}
			if test.name == "device" && (len(got.Output) != 1 || got.Output[0] != "linux" || got.Steps == 0 ||
				got.Language != template.Starlark) {
				t.Errorf("got output %q, %d steps, language %s", got.Output, got.Steps, got.Language)
			}
		})
	}
}

func TestErrorsKeepTheirPlace(t *testing.T) {
	p := running(t, Options{})
	_, err := p.Describe(within(t, patience), "{\n  a: 1\n  a: 2\n}")
	var e *fleet.Error
	if !errors.As(err, &e) || e.Code != fleet.CodeInvalid || e.Details[0].Line != 3 || e.Details[0].Column != 3 ||
		e.Details[0].Field != "template" {
		t.Errorf("Describe: got %+v", e)
	}
	_, err = p.Evaluate(within(t, patience), Request{Text: "def template(device):\n  return 1 // (len(device.os))"})
	if !errors.As(err, &e) || e.Details[0].Line != 2 || !strings.Contains(e.Traceback, "line 2") {
		t.Errorf("Evaluate: got %+v", e)
	}
	if _, err := p.Describe(within(t, patience), "def template(device):\n  return fail()"); err != nil {
		t.Errorf("Check runs the program: %v", err)
	}
}

// A template that an earlier version saved goes on although its text may not be saved any more.
func TestARefusedTextIsEvaluated(t *testing.T) {
	p := running(t, Options{})
	const text = "def template(device):\n  return \"{{ x }}\""
	for range 2 { // the second time from the cache
		got := evaluate(t, p, Request{Text: text})
		if got.Value.Str() != "{{ x }}" {
			t.Errorf("got %s", got.Value.JSON())
		}
		reads, err := p.Describe(within(t, patience), text)
		var e *fleet.Error
		if !errors.As(err, &e) || e.Code != fleet.CodeInvalid || e.Details[0].Line != 2 || e.Hint == "" || !reads.Known {
			t.Errorf("Describe: got %+v, %+v", reads, err)
		}
	}
}

// What a program does not look at does not make it run again; what it looks at does.
func TestCachedByWhatIsRead(t *testing.T) {
	linux, other := template.Facts{DeviceID: "A", OS: "linux", Label: "a"},
		template.Facts{DeviceID: "B", OS: "linux", Label: "b"}
	config := func(v string) stconfig.Value {
		return stconfig.Obj(stconfig.Member{Name: "a", Value: stconfig.Text(v)})
	}
	fleetOf := func(facts ...template.Facts) *template.Fleet { return template.NewFleet(facts) }
	for _, test := range []struct {
		name, text string
		changed    Request // the first one is of linux, config a, fleet linux
		wantRuns   int
	}{
		{"nothing", "[1, 2]", Request{Device: other, Config: config("b"), Fleet: fleetOf(other)}, 1},
		{"another fact", "device.os", Request{Device: other}, 1},
		{"that fact", "device.label", Request{Device: other}, 2},
		{"device as a whole", "[device.os, str(device)][0]", Request{Device: other}, 2},
		{"config not read", "device.os", Request{Device: linux, Config: config("b")}, 1},
		{"config read", "config.a", Request{Device: linux, Config: config("b")}, 2},
		{"fleet", "len(devices())", Request{Device: linux, Fleet: fleetOf(linux, other)}, 2},
		{"same fleet made anew", "len(devices())", Request{Device: linux, Fleet: fleetOf(linux)}, 1},
		{"tags, same", "tags()", Request{Device: linux, Fleet: fleetOf(linux, other)}, 1},
		{"errors", "fail(device.os)", Request{Device: other}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := running(t, Options{})
			first := Request{Text: test.text, Device: linux, Config: config("a"), Fleet: fleetOf(linux)}
			test.changed.Text = test.text
			if test.changed.Fleet == nil {
				test.changed.Fleet = first.Fleet
			}
			for _, r := range []Request{first, first, test.changed} {
				if _, err := p.Evaluate(within(t, patience), r); err != nil && fleet.CodeOf(err) != fleet.CodeInvalid {
					t.Fatal(err)
				}
			}
			if got := ran(p); got != test.wantRuns {
				t.Errorf("ran %d times, want %d", got, test.wantRuns)
			}
		})
	}
}

// The secrets of a configuration do not leave this process, whatever the program looks at.
func TestSecretsAreNotSent(t *testing.T) {
	config, err := stconfig.Parse([]byte(`{"gui":{"apiKey":"hidden-1","APIKEY":"hidden-2","password":"hidden-3"},
		"folders":[{"id":"f","devices":[{"deviceID":"A","encryptionPassword":"hidden-4"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	subject, _ := encodeSubject(fleet.Inputs{Config: true}, template.Facts{}, config)
	sent := string(subject)
	if strings.Contains(sent, "hidden") || !strings.Contains(sent, "config:folders.f.devices.A.encryptionPassword") {
		t.Errorf("sent %q", sent)
	}
}

func TestDevicesThatAgreeInWhatIsReadAreEvaluatedOnce(t *testing.T) {
	p := running(t, Options{})
	devices := manyDevices(60)
	for i := range devices {
		devices[i].OS = []string{"linux", "windows", "darwin"}[i%3]
	}
	for _, test := range []struct {
		name, text string
		want       func(template.Facts) string
		wantRuns   int
	}{
		{"own label", "device.label", func(f template.Facts) string { return f.Label }, 60},
		{"by system", "device.os", func(f template.Facts) string { return f.OS }, 63},
		{"again", "device.os", func(f template.Facts) string { return f.OS }, 63},
	} {
		t.Run(test.name, func(t *testing.T) {
			for i, d := range devices {
				r, err := p.Evaluate(within(t, patience), Request{Text: test.text, Device: d})
				if err != nil || r.Value.Str() != test.want(d) {
					t.Errorf("device %d: got %q, %v; want %q", i, r.Value.Str(), err, test.want(d))
				}
			}
			if got := ran(p); got != test.wantRuns {
				t.Errorf("ran %d times in all, want %d", got, test.wantRuns)
			}
		})
	}
}

// A device whose evaluation kills the worker costs the others nothing.
func TestABombForOneDeviceCostsTheOthersNothing(t *testing.T) {
	p := running(t, Options{})
	text := "def template(device):\n  if device.apiPort in (3, 7):\n    return 'a' * 1000000000\n  return device.label"
	for i := range 20 {
		d := template.Facts{Label: fmt.Sprint(i), APIPort: i}
		r, err := p.Evaluate(within(t, patience), Request{Text: text, Device: d})
		if bomb := i == 3 || i == 7; bomb != (fleet.CodeOf(err) == fleet.CodeInvalid) || !bomb && r.Value.Str() != d.Label {
			t.Errorf("device %d: got %q, %v", i, r.Value.Str(), err)
		}
	}
}

// A program that breaks its limits for every device is not tried for all of them.
func TestATextThatFailsAtGreatCostIsNotRunForAWhile(t *testing.T) {
	p := running(t, Options{})
	text := "def template(device):\n  return ['a' * 1000000000, device.apiPort]"
	for i := range 200 {
		_, err := p.Evaluate(within(t, patience), Request{Text: text, Device: template.Facts{APIPort: i}})
		if fleet.CodeOf(err) != fleet.CodeInvalid {
			t.Errorf("device %d: got %v", i, err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.failures {
		if s.count > maxFailures {
			t.Errorf("tried %d times", s.count)
		}
	}
}

// Many who ask for the same at once get one evaluation.
func TestSameAtOnce(t *testing.T) {
	p := running(t, Options{Max: 4})
	var wg sync.WaitGroup
	var steps atomic.Int64
	for range 50 {
		wg.Go(func() {
			got := evaluate(t, p, Request{Text: "def template():\n  n = 0\n  for i in range(1000):\n    n += i\n  return n"})
			steps.Add(int64(got.Steps))
		})
	}
	wg.Wait()
	if got := ran(p); got != 1 || steps.Load() == 0 {
		t.Errorf("ran %d times", got)
	}
}

func TestWorkerKilledFromOutside(t *testing.T) {
	p := running(t, Options{})
	evaluate(t, p, Request{Text: "1"})
	for i := range 10 {
		p.mu.Lock()
		for w := range p.all {
			w.kill()
		}
		p.mu.Unlock()
		_, err := p.Evaluate(within(t, patience), Request{Text: fmt.Sprintf("%d + 1", i)})
		if err != nil && fleet.CodeOf(err) != fleet.CodeInvalid {
			t.Errorf("got %v", err)
		}
	}
	evaluate(t, p, Request{Text: "5 + 5"})
}

func TestRunEndsItsWorkers(t *testing.T) {
	p := New(Options{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Run(ctx) }()
	evaluate(t, p, Request{Text: "1"})
	p.mu.Lock()
	workers := slices.Collect(maps.Keys(p.all))
	p.mu.Unlock()
	busy := make(chan error, 1)
	go func() {
		_, err := p.Evaluate(context.Background(),
			Request{Text: "def template():\n  return [x for x in range(100000000) if x < 0]"})
		busy <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
	if err := <-busy; fleet.CodeOf(err) != fleet.CodeUnavailable && fleet.CodeOf(err) != fleet.CodeInvalid {
		t.Errorf("evaluation under way: %v", err)
	}
	for _, w := range workers {
		if !w.isGone() {
			t.Errorf("worker %d is still there", w.cmd.Process.Pid)
		}
	}
	if _, err := p.Evaluate(within(t, patience), Request{Text: "2"}); fleet.CodeOf(err) != fleet.CodeUnavailable {
		t.Errorf("afterwards: %v", err)
	}
}

// Run may be ended at any moment, while workers are being started too, and always leaves none behind.
func TestRunEndsAtAnyMoment(t *testing.T) {
	for i := range 100 {
		p := New(Options{Warm: 3})
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx) }()
		for range i % 5 {
			runtime.Gosched()
		}
		if i%3 == 0 {
			evaluate(t, p, Request{Text: "1"})
		}
		cancel()
		select {
		case <-ended:
		case <-within(t, patience).Done():
			t.Fatal("Run does not end")
		}
		if len(p.all) > 0 {
			t.Errorf("%d workers are left", len(p.all))
		}
	}
}

func TestEvaluateWaitsForRun(t *testing.T) {
	p := New(Options{})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Evaluate(ctx, Request{Text: "1"}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestCancelledEvaluation(t *testing.T) {
	p := running(t, Options{})
	evaluate(t, p, Request{Text: "1"})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, err := p.Evaluate(ctx, Request{Text: "def template():\n  return [x for x in range(10000000) if x < 0]"})
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) && fleet.CodeOf(err) != fleet.CodeInvalid {
		t.Errorf("got %v", err)
	}
	evaluate(t, p, Request{Text: "2"})
}

// A worker that somebody took over, or that is broken, can neither make the server allocate nor hang it.
func TestDishonestWorkers(t *testing.T) {
	for _, role := range []string{"huge", "garbage", "silent"} {
		t.Run(role, func(t *testing.T) {
			p := running(t, Options{Command: as(t, role), Limits: Limits{Wall: 300 * time.Millisecond}})
			before := resident(t)
			_, err := p.Evaluate(within(t, patience), Request{Text: "1"})
			if err == nil {
				t.Error("got no error")
			}
			if grown := resident(t) - before; grown > mayGrow {
				t.Errorf("resident memory grew by %d MiB", grown>>20)
			}
		})
	}
}

func TestWorkerDoesNotStart(t *testing.T) {
	for _, command := range [][]string{as(t, "dies"), {"/nowhere/muster", "worker"}} {
		p := running(t, Options{Command: command})
		_, err := p.Evaluate(within(t, patience), Request{Text: "1"})
		if fleet.CodeOf(err) != fleet.CodeUnavailable {
			t.Errorf("%v: got %v", command, err)
		}
	}
}

// A worker without server ends by itself.
func TestWorkerEndsWithItsInput(t *testing.T) {
	w := greeted(t, "worker")
	w.in.Close()
	select {
	case <-w.exited:
	case <-within(t, patience).Done():
		t.Fatal("the worker is still there")
	}
	if state := w.cmd.ProcessState; state.ExitCode() != 0 {
		t.Errorf("ended with %v: %s", state, w.complaint.String())
	}
}

// Workers get nothing of the server's environment.
func TestEnvironment(t *testing.T) {
	t.Setenv("MUSTER_TOKEN", "hidden")
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	w, err := startWorker(as(t, "environment"), Options{}.withDefaults().Limits, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.bury()
	<-w.exited
	environment := w.complaint.String()
	if strings.Contains(environment, "MUSTER") || !strings.Contains(environment, "GOMAXPROCS=1") {
		t.Errorf("environment %q", environment)
	}
}

// Workers beyond the warm ones go when nobody needs them.
func TestRetire(t *testing.T) {
	p := running(t, Options{Warm: 1, Max: 8})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			evaluate(t, p, Request{Text: fmt.Sprintf("def template():\n  n = %d\n  for i in range(1000):\n    n += i\n  "+
				"return n", i)})
		})
	}
	wg.Wait()
	for ctx := within(t, patience); idle(p) > 1; p.retire(time.Now()) { // warm ones may still be on their way
		if ctx.Err() != nil {
			t.Fatalf("%d idle workers", idle(p))
		}
	}
	evaluate(t, p, Request{Text: "1"})
}

func idle(p *Pool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle)
}

// The largest results that the limits allow stay within what this process may grow by.
func TestLargestResults(t *testing.T) {
	p := running(t, Options{Limits: Limits{Memory: raceShare * defaultMemory, Wall: patience}})
	awaitIdle(t, p)
	before := resident(t)
	for i, text := range []string{
		"[[] for _ in range(99000)]", "[{} for _ in range(99000)]", "[{'a': x} for x in range(49000)]", "['x' * 2000000][:]",
		"[str(x) + 'y' * 15 for x in range(99000)]", "[{str(x): x for x in range(1900)} for _ in range(50)]",
	} {
		got := evaluate(t, p, Request{Text: text})
		if n := got.Value.Len(); n == 0 {
			t.Errorf("program %d: %d members", i, n)
		}
		if grown := resident(t) - before; grown > mayGrow {
			t.Errorf("program %d: resident memory grew by %d MiB", i, grown>>20)
		}
	}
}
