package rollout_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"muster/client"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/wait"
)

// generatedRuns are how many orders are tried.
func generatedRuns() uint64 {
	if os.Getenv("MUSTER_SOAK") != "" {
		return 40
	}
	return 2
}

// People remove a folder, consent, undo, halt, resume and change something else in the middle, in every order, while
// daemons go and come and Muster is killed. Every device ends where the newest generation wants it, and no rollout and
// no question is open. internal/engine/rollout runs the same many thousand times against a fleet in memory.
func TestEveryOrderEndsWhereTheNewestGenerationWantsIt(t *testing.T) {
	t.Parallel()
	for seed := range generatedRuns() {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			g := newGenerated(t, seed)
			for range 12 {
				g.act()
				g.comesToRest()
			}
			g.finish()
		})
	}
}

const otherFolders = "maxFolderConcurrency" // the option that the second change sets

// generated is a run. Its templates bring a folder, remove it, and set an option.
type generated struct {
	*world
	random                  *rand.Rand
	brings, removes, option int64
	unset                   string // the option where no template sets it
	acts                    []string
	answers                 int
	away                    *stsim.Daemon
}

func newGenerated(t *testing.T, seed uint64) *generated {
	t.Helper()
	g := &generated{world: newWorld(t, 12, server.Options{}), random: rand.New(rand.NewPCG(seed, 11))}
	g.unset = option(g.farm.Daemon(0), otherFolders)
	g.option = g.Template("merge", "options", `{"`+otherFolders+`": 2}`)
	g.brings = g.Template("set", "folders.houserules", handbook, "all")
	g.removes = g.Template("remove", "folders.houserules", "true")
	g.untilHave("houserules", 12)
	g.comesTo(fleet.RolloutSucceeded)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d: %s", seed, strings.Join(g.acts, ", "))
		}
	})
	return g
}

// act does one of the things that people do, or that happen.
func (g *generated) act() {
	ctx := g.t.Context()
	newest := g.newest().ID
	older := max(1, newest-int64(g.random.IntN(2)))
	acts := []struct {
		name string
		do   func() error
	}{
		{"remove", func() error { return g.toggle(g.removes) }},
		{"remove", func() error { return g.toggle(g.removes) }},
		{"second change", func() error { return g.toggle(g.option) }},
		{"bring", func() error { return g.toggle(g.brings) }},
		{"consent", func() error { g.consentToAll(); return nil }},
		{"consent", func() error { g.consentToAll(); return nil }},
		{"undo", func() error { _, err := g.undo(older); return err }},
		{"undo", func() error { _, err := g.undo(older); return err }},
		{"resume", func() error { _, err := g.Client.ResumeRollout(ctx, newest); return err }},
		{"halt", func() error { _, err := g.Client.HaltRollout(ctx, newest); return err }},
		{"pause", func() error { _, err := g.Client.PauseRollout(ctx, newest); return err }},
		{"away or back", g.goOrCome},
		{"kill", func() error { g.restart(); return nil }},
	}
	act := acts[g.random.IntN(len(acts))]
	g.acts = append(g.acts, act.name)
	if err := act.do(); err != nil && fleet.CodeOf(err) != fleet.CodeConflict {
		g.t.Fatalf("%s: %v", act.name, err)
	}
}

// toggle takes the tag "all" off a template, or puts it on.
func (g *generated) toggle(template int64) error {
	if g.carried(template) {
		_, err := g.Client.UntagTemplate(g.t.Context(), template, "all")
		return err
	}
	_, err := g.Client.TagTemplate(g.t.Context(), template, "all")
	return err
}

func (g *generated) carried(template int64) bool {
	g.t.Helper()
	tags, err := g.Client.TemplateTags(g.t.Context(), template)
	if err != nil {
		g.t.Fatal(err)
	}
	return slices.Contains(tags, "all")
}

func (g *generated) goOrCome() error {
	if g.away != nil {
		back := g.away
		g.away = nil
		return back.Start()
	}
	g.away = g.farm.Daemon(g.random.IntN(12))
	g.away.Stop()
	return nil
}

// consentToAll answers yes to what waits now, for the members of the rollout that it belongs to.
func (g *generated) consentToAll() {
	waiting, err := g.Client.Consents(g.t.Context())
	if err != nil {
		g.t.Fatal(err)
	}
	for _, question := range waiting {
		_, err := g.Client.AnswerConsents(g.t.Context(), answerTo(question, fleet.AnswerConsent, g.random.IntN(2) == 0))
		if err != nil && fleet.CodeOf(err) != fleet.CodeConflict {
			g.t.Fatal(err)
		}
		g.answers++
	}
}

// comesToRest waits, or not, until nothing more happens by itself, or a wave is reached.
func (g *generated) comesToRest() {
	wave := g.random.IntN(4)
	if wave == 0 {
		return
	}
	wait.Until(g.t, func() string {
		r := g.newest()
		waiting, err := g.Client.Consents(g.t.Context())
		switch {
		case err != nil:
			return err.Error()
		case r.Status != string(fleet.RolloutRunning) && r.Status != string(fleet.RolloutWaiting), r.Wave >= wave,
			len(waiting) > 0, g.away != nil:
			return ""
		}
		return fmt.Sprintf("rollout %d is %s in wave %d: %s", r.ID, r.Status, r.Wave, r.Reason)
	})
}

// finish has all daemons back. People resume what stopped and consent to what waits.
func (g *generated) finish() {
	g.acts = append(g.acts, "finish")
	if g.away != nil {
		if err := g.goOrCome(); err != nil {
			g.t.Fatal(err)
		}
	}
	wait.Until(g.t, func() string {
		all, err := g.Client.Rollouts(g.t.Context(), client.List{})
		if err != nil {
			return err.Error()
		}
		open := ""
		for _, r := range all {
			switch status := fleet.RolloutStatus(r.Status); {
			case status.Over():
				continue
			case status == fleet.RolloutHalted, status == fleet.RolloutPaused:
				_, _ = g.Client.ResumeRollout(g.t.Context(), r.ID) // it may be over by now
			}
			open += fmt.Sprintf("rollout %d is %s: %s (%s)\n", r.ID, r.Status, r.Reason, r.Next)
		}
		before := g.answers
		if g.consentToAll(); g.answers > before {
			return open + "something waits for an answer"
		}
		return open + g.missing()
	})
	g.inSync(g.farm.Daemons()...)
	if what := g.missing(); what != "" {
		g.t.Error(what)
	}
	g.groups(0)
}

// missing says which daemon has not what the templates ask for now.
func (g *generated) missing() string {
	folder, set := g.carried(g.brings) && !g.carried(g.removes), g.unset
	if g.carried(g.option) {
		set = "2"
	}
	for _, d := range g.farm.Daemons() {
		if got := has(d, "houserules"); got != folder {
			return fmt.Sprintf("%s has the folder: %v, want %v", d.Name(), got, folder)
		}
		if got := option(d, otherFolders); got != set {
			return fmt.Sprintf("%s has the option %s, want %s", d.Name(), got, set)
		}
	}
	return ""
}
