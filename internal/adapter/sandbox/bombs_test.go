package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"muster/internal/core/template"
	"muster/internal/fleet"
)

const mayGrow = raceShare * 32 << 20 // bytes of the server's resident memory

func bombs(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/bombs/*")
	if err != nil || len(files) < 25 {
		t.Fatalf("%d bombs, %v", len(files), err)
	}
	texts := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(file)] = string(text)
	}
	return texts
}

// Every bomb is its template's error, at no cost to this process, and the next evaluation works.
func TestBombs(t *testing.T) {
	texts := bombs(t)
	p := running(t, Options{Limits: Limits{Wall: defaultWall}})
	awaitIdle(t, p)
	before := resident(t)
	t.Run("corpus", func(t *testing.T) {
		for name, text := range texts {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				_, err := p.Evaluate(within(t, patience), Request{Text: text})
				wantInvalid(t, err)
				wantWorks(t, p)
				if grown := resident(t) - before; grown > mayGrow {
					t.Errorf("resident memory grew by %d MiB", grown>>20)
				}
			})
		}
	})
}

func wantInvalid(t *testing.T, err error) {
	t.Helper()
	var e *fleet.Error
	if !errors.As(err, &e) || e.Code != fleet.CodeInvalid || e.Message == "" || e.Hint == "" && e.Traceback == "" &&
		e.Details[0].Line == 0 {
		t.Fatalf("got error %v (%s), want an explained invalid", err, fleet.CodeOf(err))
	}
	for _, text := range append([]string{e.Message, e.Hint, e.Traceback}, messages(e)...) {
		if len(text) > 8<<10 {
			t.Errorf("an error of %d bytes", len(text))
		}
	}
	t.Log(e.Message)
}

func messages(e *fleet.Error) []string {
	var all []string
	for _, d := range e.Details {
		all = append(all, d.Message)
	}
	return all
}

var evaluations atomic.Int64

// wantWorks evaluates what no cache has seen.
func wantWorks(t *testing.T, p *Pool) {
	t.Helper()
	// not within: thousands would be kept to the end
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	n := evaluations.Add(1)
	got, err := p.Evaluate(ctx, Request{Text: "def template(device):\n    return device.apiPort + 1",
		Device: template.Facts{APIPort: int(n)}})
	if want := strconv.FormatInt(n+1, 10); err != nil || got.Value.Str() != want {
		t.Errorf("got %s, %v, want %s", got.Value.JSON(), err, want)
	}
}

// awaitIdle lets the pool make what it keeps, so that the growth of this process is the bombs' doing.
func awaitIdle(t *testing.T, p *Pool) {
	t.Helper()
	wantWorks(t, p)
	debug.FreeOSMemory()
}

// resident is this process's resident memory, garbage included.
func resident(t *testing.T) int64 {
	t.Helper()
	if runtime.GOOS != "linux" {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.Sys)
	}
	now, err := memoryOf(0)
	if err != nil {
		t.Fatal(err)
	}
	return now.Resident
}

// Ten bombs at once leave other evaluations working.
func TestTenBombsAtOnce(t *testing.T) {
	texts := bombs(t)
	names := []string{"repeat-string.star", "repeat-list.star", "replace.star", "join.star", "long-loop.star",
		"nested-loops.star",
		"long-builtin.star", "dict.star", "huge-integer.star", "output-growing.star"}
	p := running(t, Options{Limits: Limits{Wall: defaultWall}})
	awaitIdle(t, p)
	before := resident(t)
	failures := make(chan error, len(names))
	for _, name := range names {
		text, ok := texts[name]
		if !ok {
			t.Fatalf("no bomb %s", name)
		}
		go func() {
			_, err := p.Evaluate(context.Background(), Request{Text: text})
			failures <- err
		}()
	}
	for left := len(names); left > 0; {
		wantWorks(t, p)
		select {
		case err := <-failures:
			wantInvalid(t, err)
			left--
		default:
		}
	}
	if grown := resident(t) - before; grown > mayGrow {
		t.Errorf("resident memory grew by %d MiB", grown>>20)
	}
}
