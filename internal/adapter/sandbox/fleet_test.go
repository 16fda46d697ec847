package sandbox

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"muster/internal/core/template"
	"muster/internal/fleet"
)

// telling is a worker that notes on its standard error each fleet and each evaluation that it is sent.
func telling() error {
	in, out := io.Pipe()
	go func() {
		requests := bufio.NewReader(os.Stdin)
		for {
			k, body, err := readFrame(requests, maxRequest)
			if err == nil && (k == kindFleet || k == kindEvaluate) {
				_, err = os.Stderr.Write([]byte{byte(k)})
			}
			if err == nil {
				err = writeFrame(out, k, []byte(body))
			}
			if err != nil {
				out.CloseWithError(err)
				return
			}
		}
	}()
	return Serve(in, os.Stdout)
}

// notesOf is what all workers have written to their standard error.
func notesOf(p *Pool) (notes string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for w := range p.all {
		notes += w.complaint.String()
	}
	return notes
}

// However many evaluations ask for other devices, their facts go to a worker once per change: also when the registry
// was read anew and nothing about devices changed. A program that does not ask gets none.
func TestAFleetIsSentOncePerChange(t *testing.T) {
	p := running(t, Options{Command: as(t, "telling"), Warm: 1, Max: 1})
	for ctx := within(t, patience); idle(p) < 1; runtime.Gosched() { // else there would be two workers
		if ctx.Err() != nil {
			t.Fatal("no worker is ready")
		}
	}
	devices := manyDevices(200)
	evaluations := 0
	evaluateFor := func(round string, all *template.Fleet, programs ...string) {
		t.Helper()
		for _, text := range programs {
			for n := range 20 {
				evaluations++
				evaluate(t, p, Request{Text: fmt.Sprintf("%s # %s %d", text, round, n), Device: devices[n], Fleet: all})
			}
		}
	}
	wantSent := func(want int, when string) {
		t.Helper()
		notes := notesOf(p)
		for ctx := within(t, patience); strings.Count(notes, string(kindEvaluate)) < evaluations &&
			ctx.Err() == nil; notes = notesOf(p) {
			runtime.Gosched()
		}
		if sent := strings.Count(notes, string(kindFleet)); sent != want ||
			strings.Count(notes, string(kindEvaluate)) != evaluations {
			t.Errorf("%s: sent %d times, want %d, in %d evaluations: %s", when, sent, want, evaluations, notes)
		}
	}
	first := template.NewFleet(devices)
	evaluateFor("none", first, "device.label", "[1, 2][0]")
	wantSent(0, "nobody asks")
	evaluateFor("first", first, "len(devices())", "[d.label for d in devices('all')] + [device.label]", "tags()")
	wantSent(1, "three programs, twenty devices")
	evaluateFor("again", template.NewFleet(devices), "len(devices())")
	wantSent(1, "the same facts, made anew")
	devices[7].Label = "renamed"
	second := template.NewFleet(devices)
	evaluateFor("second", second, "[d.label for d in devices()]", "tags()")
	wantSent(2, "a label changed")
}

// What is sent is encoded once, though the fleets of several generations take turns.
func TestAFleetIsEncodedOnce(t *testing.T) {
	p := New(Options{})
	var fleets []*template.Fleet
	var bodies []*byte
	for i := range keptFleets {
		fleets = append(fleets, template.NewFleet(manyDevices(i+1)))
		body, err := p.sharedInputsFor(fleets[i], nil).encode()
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, &body[0])
	}
	for range 3 {
		for i, all := range fleets {
			if body, err := p.sharedInputsFor(all, []string{"wifi"}).encode(); err != nil || &body[0] != bodies[i] {
				t.Errorf("the fleet of %d was encoded again (%v)", i+1, err)
			}
		}
	}
	p.sharedInputsFor(template.NewFleet(manyDevices(9)), nil)
	if len(p.fleets) != keptFleets {
		t.Errorf("%d fleets are kept", len(p.fleets))
	}
}

// A fleet that is larger than the memory that workers were started with gets workers with more.
func TestFleetOutgrowsItsWorkers(t *testing.T) {
	p := running(t, Options{Warm: 2, Max: 2})
	for _, n := range []int{10, 2000, 3000, 10} {
		got := evaluate(t, p, Request{Text: "len(devices())", Fleet: template.NewFleet(manyDevices(n))})
		if string(got.Value.JSON()) != fmt.Sprint(n) {
			t.Errorf("got %s devices, want %d", got.Value.JSON(), n)
		}
	}
	if got, want := p.allowance.Load(), int64(4096*fleetAllowance); got != want {
		t.Errorf("workers to come may use %d bytes for the fleet, want %d", got, want)
	}
}

// What a worker knows of other devices is replaced when a var changes, and never given to a program that was made
// without it.
func TestVarsOfPeersReachAWorkerOnlyWithTheirFleet(t *testing.T) {
	p := running(t, Options{Warm: 1, Max: 1})
	with := func(vars fleet.Vars) *template.Fleet {
		return template.NewFleet([]template.Facts{{DeviceID: "A", Peer: &template.Peer{Vars: vars}}})
	}
	const text = `[d.vars.x for d in devices()]`
	for _, want := range []string{"[1]", "[2]", "[1]"} {
		vars := fleet.Vars(`{"x":` + strings.Trim(want, "[]") + `}`)
		if got := evaluate(t, p, Request{Text: text, Fleet: with(vars)}); string(got.Value.JSON()) != want {
			t.Errorf("got %s, want %s", got.Value.JSON(), want)
		}
		without := template.NewFleet([]template.Facts{{DeviceID: "A"}})
		if got, err := p.Evaluate(t.Context(), Request{Text: text, Fleet: without}); err == nil {
			t.Errorf("got %s without the vars of peers", got.Value.JSON())
		}
	}
}
