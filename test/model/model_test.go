// Package model_test runs random sequences of actions on a whole server with simulated daemons: of people,
// introducers, templates, upgrades, faults and crashes. It compares each daemon with a reference model of the rules of
// ownership.
//
// The usual run uses the same sequences each time, so that a change is not blamed for an older bug. A soak run uses
// new sequences each time.
//
//muster:needs daemons database
//muster:test -rapid.checks=20 -rapid.seed=1
//muster:test -race=false -rapid.checks=1000 -rapid.seed=1
//muster:soak -rapid.checks=1000
//muster:soak -race=false -rapid.checks=50000
package model_test

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"muster/internal/adapter/store/pgtest"
	"muster/internal/core/stconfig"
	"muster/test/server"
)

const (
	lanes = 128  // sequences at a time: they wait most of the time
	round = 1000 // sequences for the same servers
)

// drawn is how many bytes a sequence may draw its acts from.
const drawn = 64 << 10

var (
	ctx  = context.Background()
	all  int    // sequences to be made: the flag -rapid.checks
	seed uint64 // of all of them: the flag -rapid.seed, or random
)

func TestMain(m *testing.M) {
	server.Main()
	flag.Parse()
	var err error
	if all, err = strconv.Atoi(flag.Lookup("rapid.checks").Value.String()); err != nil {
		panic(err)
	}
	if seed, err = strconv.ParseUint(flag.Lookup("rapid.seed").Value.String(), 10, 64); err != nil {
		panic(err)
	}
	if seed == 0 {
		seed = rand.Uint64()
	}
	// Each sequence is a test of its own, so that a lane which is done begins the next one.
	if err := flag.Set("test.parallel", fmt.Sprint(lanes)); err != nil {
		panic(err)
	}
	debug.SetGCPercent(400)
	if err := os.Setenv("GOGC", "400"); err != nil { // of the server
		panic(err)
	}
	os.Exit(m.Run())
}

// The flag -rapid.checks is the number of sequences. One that failed is made again with its -run, the -rapid.seed that
// the log names, and the same -rapid.checks.
func TestTheDaemonHasWhatTheRulesSay(t *testing.T) {
	t.Parallel()
	for done := 0; done < all && !t.Failed(); done += round {
		t.Run(fmt.Sprint("from ", done+1), func(t *testing.T) {
			sideBySide(t, min(round, all-done), server.Options{}, server.Options{})
			t.Logf("%d sequences of %d acts so far, of which %d had the device contended",
				sequences.Load(), actsDone.Load(), goneOn.Load())
		})
	}
}

// The rules do not depend on the database: a few sequences over the other one.
func TestTheDaemonHasWhatTheRulesSayOnPostgreSQL(t *testing.T) {
	t.Parallel()
	database, err := pgtest.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = database.Stop() })
	sideBySide(t, max(all/50, 1), server.Options{Database: database.Database(t)})
}

// sideBySide makes n sequences with servers that each take their share. A kill of one, and all that it has to read anew
// then, is for its own sequences only.
func sideBySide(t *testing.T, n int, each ...server.Options) {
	var servers []*muster
	for _, o := range each {
		m := startMuster(t, o)
		m.s.Register(nora, "switched off", "127.0.0.1", 1)
		m.s.Register(olga, "switched off", "127.0.0.1", 1)
		servers = append(servers, m)
	}
	t.Run("sequence", func(t *testing.T) {
		for i := range n {
			t.Run(fmt.Sprint(i+1), func(t *testing.T) {
				t.Parallel()
				rapid.MakeFuzz(func(rt *rapid.T) { run(rt, servers[i%len(servers)]) })(t, draws(t))
			})
		}
	})
}

// draws is what the sequence of a test is made of: the same for the same seed and the name of the test.
func draws(t *testing.T) []byte {
	t.Logf("seed %d", seed)
	all := make([]byte, drawn)
	_, _ = rand.NewChaCha8(sha256.Sum256([]byte(fmt.Sprint(seed, t.Name())))).Read(all) // never fails
	return all
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
	s.waitRest() // what Muster shows is what the daemon has
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
