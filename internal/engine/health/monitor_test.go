package health

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// running runs the health of these checks in a bubble until the test ends.
func running(t *testing.T, checks ...Check) (*Monitor, *bytes.Buffer) {
	t.Helper()
	log := &bytes.Buffer{}
	h := NewMonitor(slog.New(slog.NewTextHandler(log, nil)), checks...)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	synctest.Wait()
	return h, log
}

func TestWhatDoesNotWorkIsNamedUntilItWorksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var broken atomic.Bool
		broken.Store(true)
		full := &fleet.Error{Code: fleet.CodeUnavailable, Message: "the disk is full", Hint: "Make room."}
		h, log := running(t,
			Check{fleet.PartWorkers, func(context.Context) *fleet.Impairment { return nil }},
			Check{fleet.PartDatabase, func(context.Context) *fleet.Impairment {
				if broken.Load() {
					return Blocking(fleet.PartDatabase, full)
				}
				return nil
			}})
		want := fleet.Impairment{Part: fleet.PartDatabase, Blocking: true, Reason: "the disk is full", Next: "Make room."}
		if got := h.Impairments(); len(got) != 1 || got[0] != want {
			t.Errorf("got %+v", got)
		}
		<-time.After(time.Minute)
		broken.Store(false)
		<-time.After(checkEvery)
		synctest.Wait()
		if got := h.Impairments(); len(got) != 0 {
			t.Errorf("got %+v", got)
		}
		if n := strings.Count(log.String(), "\n"); n != 2 || !strings.Contains(log.String(), "works again") {
			t.Errorf("logged %d lines: %s", n, log)
		}
	})
}

// A database that hangs kept /readyz waiting.
func TestACheckThatHangsKeepsNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		var checks atomic.Int64
		h, _ := running(t,
			Check{fleet.PartDatabase, func(context.Context) *fleet.Impairment { <-release; return nil }},
			Check{fleet.PartDescriptors, func(context.Context) *fleet.Impairment {
				checks.Add(1)
				return &fleet.Impairment{Part: fleet.PartDescriptors, Reason: "few"}
			}})
		<-time.After(time.Minute)
		got := h.Impairments()
		if len(got) != 2 || got[0].Part != fleet.PartDatabase || !got[0].Blocking || got[1].Blocking {
			t.Errorf("got %+v", got)
		}
		if n := checks.Load(); n < 25 || n > 35 {
			t.Errorf("the other part was checked %d times in a minute", n)
		}
	})
}

func TestTheCauseOfAnImpairmentStaysInside(t *testing.T) {
	got := Blocking(fleet.PartWorkers, errors.New("password=hunter2"))
	if got == nil || strings.Contains(got.Reason+got.Next, "hunter2") || got.Next == "" {
		t.Errorf("got %+v", got)
	}
}

func TestACauseIsInNoImpairment(t *testing.T) {
	cause := errors.New("canary-in-a-cause")
	for _, err := range []error{cause, &fleet.Error{Code: fleet.CodeUnavailable, Message: "the disk is full", Err: cause},
		&fleet.Error{Code: fleet.CodeUnavailable, Err: cause}} {
		if got := Blocking(fleet.PartDatabase, err); strings.Contains(got.Reason+got.Next, "canary") || got.Reason == "" {
			t.Errorf("got %+v", got)
		}
	}
}
