// Package model_test drives the whole server and simulated daemons through random sequences of what people,
// introducers, templates, upgrades, faults and crashes do, and compares each daemon with a reference model of the
// rules of ownership.
package model_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"muster/internal/stconfig"
	"muster/internal/store/pgtest"
	"muster/test/server"
)

const (
	lanes = 64  // sequences at a time
	round = 500 // sequences for one server
)

var ctx = context.Background()

func TestMain(m *testing.M) {
	server.Main()
	flag.Parse()
	if err := flag.Set("test.parallel", fmt.Sprint(lanes)); err != nil { // a sequence waits most of the time
		panic(err)
	}
	debug.SetGCPercent(400)
	if err := os.Setenv("GOGC", "400"); err != nil { // of the server
		panic(err)
	}
	os.Exit(m.Run())
}

// The flag -rapid.checks is the number of sequences of all lanes together.
func TestTheDaemonHasWhatTheRulesSay(t *testing.T) {
	all := checks(t)
	for done := 0; done < all && !t.Failed(); done += round {
		t.Run(fmt.Sprint("from ", done+1), func(t *testing.T) {
			inLanes(t, min(round, all-done), server.Options{})
			t.Logf("%d sequences of %d acts so far, of which %d had the device contended",
				sequences.Load(), actsDone.Load(), goneOn.Load())
		})
	}
}

// The rules do not depend on the database: a few sequences over the other one.
func TestTheDaemonHasWhatTheRulesSayOnPostgreSQL(t *testing.T) {
	database, err := pgtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = database.Stop() })
	inLanes(t, max(checks(t)/50, 1), server.Options{Database: database.Database(t)})
}

// checks is the flag -rapid.checks, which inLanes changes until the test ends.
func checks(t *testing.T) int {
	checks := flag.Lookup("rapid.checks").Value.String()
	t.Cleanup(func() { _ = flag.Set("rapid.checks", checks) })
	all, err := strconv.Atoi(checks)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// inLanes makes n sequences with one server.
func inLanes(t *testing.T, n int, o server.Options) {
	if err := flag.Set("rapid.checks", fmt.Sprint((n+lanes-1)/lanes)); err != nil {
		t.Fatal(err)
	}
	m := startMuster(t, o)
	m.s.Register(nora, "switched off", "127.0.0.1", 1)
	m.s.Register(olga, "switched off", "127.0.0.1", 1)
	t.Run("lanes", func(t *testing.T) {
		for lane := range min(lanes, n) {
			t.Run(fmt.Sprint("lane ", lane), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(rt *rapid.T) { run(rt, m) })
			})
		}
	})
}

func run(rt *rapid.T, m *muster) {
	s := newSequence(rt, m)
	defer s.end()
	for range rapid.IntRange(1, 9).Draw(rt, "acts") {
		s.act()
	}
	s.withoutMuster()
}

// withoutMuster deletes all templates and says yes to all: the daemon has what people made of it, and nothing else.
func (s *sequence) withoutMuster() {
	s.atOnce(func() {
		for at := range kinds {
			if s.saved[at] != nil {
				s.deletes(at)
				for id := range s.folded().along { // for a moment, if Muster plans in between
					s.rules.along[id] = true
				}
			}
		}
		s.accepted()
		s.planned()
	})
	for range 5 {
		if !s.answers(consentOrKeep) {
			break
		}
	}
	if len(s.plan.Changes) > 0 {
		s.rt.Errorf("something is planned without templates:%s", s.told())
	}
	for _, place := range differences(s.want, s.doc) {
		s.rt.Errorf("at the end %s is %q, want %q", place, s.doc[place], s.want[place])
	}
	s.untouched()
}

func consentOrKeep(key string, returns bool) string {
	if returns && key == passwordPlace {
		return "keep"
	}
	return "consent"
}

// untouched compares what is no place of interest, where no upgrade changed it.
func (s *sequence) untouched() {
	if !s.initial.Get("version").Equal(s.value.Get("version")) {
		return
	}
	for _, c := range stconfig.Diff(s.initial.With("folders", stconfig.List()).With("devices", stconfig.List()),
		s.value.With("folders", stconfig.List()).With("devices", stconfig.List())) {
		if _, interest := s.doc[c.Key.String()]; !interest {
			s.rt.Errorf("%s was changed", c.Key)
		}
	}
}
