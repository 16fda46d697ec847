package reconcile

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"muster/internal/desired"
	"muster/internal/fleet"
	"muster/internal/plan"
)

const (
	noTemplates = "no template applies to this device, and nothing is left to return to what it was"
	howToResume = "`muster status` lists the stops in force, with the command that ends each."
)

// severity orders the states of a configuration: of several the worst wins.
var severity = map[fleet.Configuration]int{
	fleet.ConfigUnmanaged: 1, fleet.ConfigInSync: 2, fleet.ConfigUnknown: 3, fleet.ConfigPending: 4, fleet.ConfigApplying: 5,
	fleet.ConfigHeld: 6, fleet.ConfigFailed: 7, fleet.ConfigContended: 8, fleet.ConfigUnstable: 9,
}

// say notes how a device stands, and tells whoever wants to know when that changed.
func (e *Engine) say(m *machine, c fleet.Configuration, reason, next string) {
	reason, next = cut(reason), cut(next)
	m.mem.mu.Lock()
	was := m.mem.condition
	changed := was.Configuration != c || was.Reason != reason || was.Next != next
	if changed {
		since := was.Since
		if was.Configuration != c {
			since = time.Now()
		}
		m.mem.condition = fleet.State{Configuration: c, Since: since, Reason: reason, Next: next}
	}
	m.mem.mu.Unlock()
	if changed && e.o.Changed != nil {
		e.o.Changed(m.id)
	}
}

// cut bounds a text that is kept for each device, and into which a template could put anything.
func cut(text string) string {
	const most = 2 << 10
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// conclude says how a device stands by the plan that was made last.
func (e *Engine) conclude(j *job) {
	if j.lost {
		return
	}
	j.m.mem.keepWaiting(j.plan, func(c plan.Change) string { return e.consentDigest(j.m.id, c) })
	e.rememberHeld(j)
	c := j.condition()
	e.say(j.m, c.Configuration, c.Reason, c.Next)
}

// maxWaiting is of how many changes of a device it is known between two looks at it that they wait.
const maxWaiting = 1000

// keepWaiting notes what of a plan is not sent by itself. A consent to what is not planned any more is over: nobody said
// yes to the same change another day.
func (m *memory) keepWaiting(p plan.Plan, digestOf func(plan.Change) string) {
	var waiting []plan.Wish
	for _, c := range p.Changes {
		if c.Class != plan.Skipped && !c.Sendable() && len(waiting) < maxWaiting {
			waiting = append(waiting, c.Wish())
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.waiting = waiting
	m.endConsents(func(given fleet.Consent) bool {
		return given.Over(time.Now()) || !slices.ContainsFunc(p.Changes, func(c plan.Change) bool {
			return c.Key.String() == given.Key && digestOf(c) == given.Change
		})
	})
}

func (j *job) condition() fleet.State {
	worst := fleet.State{Configuration: fleet.ConfigInSync, Reason: "the daemon has what its templates ask for"}
	switch {
	case len(j.templates) == 0 && len(j.plan.Changes) == 0:
		worst = fleet.State{Configuration: fleet.ConfigUnmanaged, Reason: noTemplates}
	case !j.known.Online:
		worst = fleet.State{Configuration: fleet.ConfigUnknown, Reason: "the daemon cannot be reached: when it was last read, it had what its templates ask for",
			Next: "It is read again as soon as it answers."}
	}
	if worst.Configuration == fleet.ConfigInSync {
		j.remarks(&worst)
	}
	if reason, next := j.restartNeeded(); reason != "" && j.known.Online {
		worst.Reason, worst.Next = reason, next
	}
	for _, s := range []fleet.State{j.waiting(), j.heldBack(), j.stopped(), j.faulty(), j.notSaved()} {
		if severity[s.Configuration] > severity[worst.Configuration] {
			worst = s
		}
	}
	return worst
}

// remarks says what is left out, doubtful or contradictory in templates that a device follows. Only a doubt has a next
// step: a template by tag about what only some devices have is normal, and so is one that overrules another.
func (j *job) remarks(state *fleet.State) {
	if skipped := j.skipped(); len(skipped) > 0 {
		state.Reason += ", except that " + because(skipped, "is skipped", "are skipped")
	}
	if doubts := j.result.Doubts; len(doubts) > 0 {
		state.Reason += "; " + doubts[0].String() + more(len(doubts)-1)
		state.Next = fmt.Sprintf("Mend template %d, if that is a mistake.", doubts[0].Template.ID)
	}
	if conflicts := j.result.Conflicts; len(conflicts) > 0 {
		state.Reason += "; " + conflicts[0].String() + more(len(conflicts)-1)
	}
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", n)
}

// skipped are the changes that this device has no place for. What is doubted is said as a doubt.
func (j *job) skipped() []plan.Change {
	doubted := func(c plan.Change) bool {
		return slices.ContainsFunc(j.result.Doubts, func(d desired.Doubt) bool { return d.Key.Equal(c.Key) })
	}
	var skipped []plan.Change
	for _, c := range j.plan.Changes {
		if c.Class == plan.Skipped && !doubted(c) {
			skipped = append(skipped, c)
		}
	}
	return skipped
}

// waiting is the state that changes on their way to the daemon make.
func (j *job) waiting() fleet.State {
	sendable := j.plan.Sendable()
	if len(sendable) == 0 {
		return fleet.State{}
	}
	intended := 0
	for _, c := range sendable {
		if !c.Drift {
			intended++
		}
	}
	reason := summary(sendable) + " is to change as the templates ask"
	if intended == 0 {
		reason = summary(sendable) + " was changed at the daemon and is to be set right (drift)"
	}
	s := fleet.State{Configuration: fleet.ConfigPending, Reason: reason, Next: "It is sent as soon as the daemon can be reached."}
	switch {
	case j.mode != fleet.ModeOn:
		s.Next = "Nothing is written, because Muster is stopped (observe) for this device. " + howToResume
	case j.known.Online:
		s.Next = "It is tried again shortly."
	}
	if j.failed != nil && !errors.Is(j.failed, context.Canceled) {
		s.Reason += "; the last attempt failed: " + fleet.Reason(j.failed)
		s.Next = "It is tried again shortly. When it goes on failing, look at the daemon's own GUI and log."
	}
	return s
}

// heldBack is the state that held and refused changes make.
func (j *job) heldBack() fleet.State {
	var held, refused []plan.Change
	for _, c := range j.plan.Changes {
		switch {
		case c.Sendable() || c.Stopped:
		case c.Class == plan.Held:
			held = append(held, c)
		case c.Class == plan.Refused:
			refused = append(refused, c)
		}
	}
	switch {
	case len(held) > 0:
		return fleet.State{
			Configuration: fleet.ConfigHeld, Reason: because(held, "waits for consent", "wait for consent"),
			Next: fmt.Sprintf("`muster apply %s` shows the plan, with the command that consents to it. Or change the template.",
				j.m.id.Short()),
		}
	case len(refused) > 0:
		return fleet.State{
			Configuration: fleet.ConfigHeld, Reason: because(refused, "is never done", "are never done"),
			Next: "Change the template that asks for it.",
		}
	}
	return fleet.State{}
}

// because says what happens to changes, and why to the first one. Another one may have another reason.
func because(changes []plan.Change, one, several string) string {
	if len(changes) == 1 {
		return fmt.Sprintf("%s %s: %s", changes[0].Key, one, changes[0].Reason)
	}
	return fmt.Sprintf("%s %s; %s: %s", summary(changes), several, changes[0].Key, changes[0].Reason)
}

// stopped is the state that stopped keys make.
func (j *job) stopped() fleet.State {
	j.m.mem.mu.Lock()
	defer j.m.mem.mu.Unlock()
	var worst fleet.State
	for _, c := range j.plan.Changes {
		s, ok := j.m.mem.stops[c.Key.String()]
		if !ok || !c.Stopped || c.Sendable() {
			continue
		}
		state := fleet.State{Configuration: fleet.ConfigFailed, Next: "It is not repeated until the plan or the daemon's configuration changes, or somebody applies the plan."}
		switch s.Kind {
		case fleet.StopContended:
			state = fleet.State{Configuration: fleet.ConfigContended, Next: "Agree with whoever sets it at the daemon, then change the template or apply the plan."}
		case fleet.StopUnstable:
			state = fleet.State{Configuration: fleet.ConfigUnstable, Next: "Make the templates say the same every time, or apply the plan."}
		}
		state.Reason = c.Key.String() + ": " + s.Reason
		if severity[state.Configuration] > severity[worst.Configuration] {
			worst = state
		}
	}
	return worst
}
