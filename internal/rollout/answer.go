package rollout

import (
	"context"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
	"muster/internal/plan"
)

const (
	giveAgain = 2 * time.Second // an answer, when what it is for waits still
	giveLast  = time.Minute     // and when it waits and waits
)

// answer is what was answered to what waits on a device: by a person, for all devices with the same held change, or by an
// undo.
type answer struct{ consent, keep []string }

// giving is how giving an answer to a device goes. While what is answered goes on waiting, because the answer cannot be
// applied or something else has to come first, it is given more and more seldom.
type giving struct {
	failed string        // why the last try came to nothing; "" when it did not
	pause  time.Duration // after it
	next   time.Time     // not before
}

// answerTo finds the answers to what a plan holds.
func (r *Runner) answerTo(m fleet.RolloutMember, p plan.Plan, held heldPlan, consents []fleet.RolloutConsent, undoes bool) (a answer) {
	for _, c := range p.Changes {
		key := c.Key.String()
		i := slices.IndexFunc(consents, func(given fleet.RolloutConsent) bool {
			return given.Key == key && given.Digest == held.same[key]
		})
		switch {
		case held.same[key] == "":
		case i >= 0 && consents[i].Keep:
			a.keep = append(a.keep, key)
		case i >= 0, undoes && takesAway(c) && !slices.Contains(m.Held, r.sameWish(c.Wish())):
			a.consent = append(a.consent, key)
		}
	}
	return a
}

// give says the answer to whoever applies, and how the device stands by that: what was answered waits for no person. It
// tells whether the device took it.
func (r *Runner) give(ctx context.Context, l *live, c *check, made plan.Plan, a answer, f fact) (stands fact, given bool) {
	l.mu.Lock()
	if len(a.consent)+len(a.keep) == 0 {
		c.giving = giving{}
		l.mu.Unlock()
		return f, false
	}
	before := c.giving
	l.mu.Unlock()
	if mode := r.o.Fleet.Standing(made.Device).Mode; mode != fleet.ModeOn && len(a.consent) > 0 {
		if f.kind == factHeld {
			f.saw = "what waits was answered, but its mode is " + string(mode) + ": nothing is written"
		}
		return f, false
	}
	if time.Now().Before(before.next) {
		return before.seen(f), false
	}
	now := giving{pause: min(max(2*before.pause, giveAgain), giveLast)}
	if err := r.o.Fleet.Apply(ctx, made.Device, made.Digest, a.consent, a.keep); err != nil {
		if now.failed = fleet.Reason(err); now.failed != before.failed && ctx.Err() == nil {
			r.log.Info("consent not applied yet", logkey.Device, made.Device, logkey.Err(err))
		}
	}
	now.next = time.Now().Add(now.pause)
	l.mu.Lock()
	defer l.mu.Unlock()
	c.giving = now
	return now.seen(f), now.failed == ""
}

// seen is how a device stands where an answer to what is held there was given.
func (g giving) seen(f fact) fact {
	if g.failed == "" || f.kind != factHeld {
		return f
	}
	return fact{kind: factPending, saw: "what waits was answered, but could not be applied: " + g.failed}
}

// takesAway tells a folder or device that Muster brought and that nobody asks for any more: whoever undoes a rollout
// wants it gone.
func takesAway(c plan.Change) bool {
	if !c.Returns || c.To.Exists() || c.Key.Len() != 2 {
		return false
	}
	section := strings.ToLower(c.Key.At(0).Name)
	return section == "folders" || section == "devices"
}
