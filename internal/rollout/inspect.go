package rollout

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/plan"
	"muster/internal/stconfig"
)

const (
	inspectors   = 4                     // devices that are planned for a gate at the same time
	inspectAgain = 2 * time.Second       // without any news
	inspectShare = 10 * time.Millisecond // that every member adds to that at first: all wait for the same processors
)

// pool runs inspections, a few at a time.
type pool struct {
	ctx     context.Context //nolint:containedctx // of Run: inspections end with it
	slots   chan struct{}
	running *sync.WaitGroup
	wake    func()
}

// start tells whether there was room.
func (p *pool) start(inspect func(context.Context)) bool {
	select {
	case p.slots <- struct{}{}:
	default:
		return false
	}
	p.running.Go(func() {
		inspect(p.ctx)
		<-p.slots
		p.wake()
	})
	return true
}

// heldPlan is what waits for consent on a device.
type heldPlan struct {
	digest string
	same   map[string]string // by key: what tells that another device has the same change
}

// inspect plans one device and judges. Where somebody has consented to what is held, or undone what brought it, that is
// said to whoever applies.
func (r *Runner) inspect(ctx context.Context, l *live, m fleet.RolloutMember, c *check, generation int64) {
	r.mu.RLock()
	consents, undoing, undone := l.Consents, l.Status == fleet.RolloutUndoing, l.undone
	r.mu.RUnlock()
	made, err := r.o.Fleet.Plan(ctx, m.Device)
	f, held, given := unplanned(err), heldPlan{}, false
	if err == nil {
		f, held = r.judge(m, made, generation, undoing)
		undoes := undoing && undone != nil && len(held.same) > 0 && r.untouchedSince(ctx, m.Device, undone, made.Generation)
		f, given = r.give(ctx, l, c, made, r.answerTo(m, made, held, consents, undoes), f)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c.fact, c.held, c.observed, c.at, c.running = f, held, made.Observed, time.Now(), false
	c.dirty = c.dirty || given
}

// unplanned is what is seen of a device for which there is no plan.
func unplanned(err error) fact {
	switch fleet.CodeOf(err) {
	case fleet.CodeInvalid, fleet.CodeTooLarge, fleet.CodeUnsupported, fleet.CodeUnbelievable, fleet.CodeMalformed:
		return fact{kind: factFailed, gate: fleet.GatePlan, saw: fleet.Reason(err)}
	}
	return fact{kind: factPending, saw: "its plan could not be made: " + fleet.Reason(err)}
}

func (r *Runner) judge(m fleet.RolloutMember, p plan.Plan, generation int64, undoing bool) (fact, heldPlan) {
	s := r.o.Fleet.Standing(m.Device)
	if p.Generation < generation {
		if undoing {
			return fact{kind: factGood}, heldPlan{} // another rollout has it
		}
		return fact{kind: factPending, saw: "it is not at the rollout's generation yet"}, heldPlan{}
	}
	var sendable, held, before []plan.Change
	for _, c := range p.Changes {
		switch {
		case c.Sendable():
			sendable = append(sendable, c)
		case c.Class != plan.Skipped && len(m.Held) > 0 && slices.Contains(m.Held, r.sameWish(c.Wish())):
			before = append(before, c)
		case c.Stopped:
			return fact{kind: factFailed, gate: fleet.GatePlan, saw: c.Key.String() + ": " + c.Reason}, heldPlan{}
		case c.Class == plan.Held, c.Class == plan.Refused:
			held = append(held, c)
		}
	}
	waits := r.heldIn(p.Digest, slices.Concat(held, before))
	switch {
	case len(sendable) > 0 && s.Mode != fleet.ModeOn:
		return fact{kind: factHeld, saw: "its mode is " + string(s.Mode) + ": nothing is written"}, waits
	case len(sendable) > 0:
		return fact{kind: factPending, saw: fmt.Sprintf("%s and %d more to be sent", sendable[0].Key, len(sendable)-1)}, waits
	case len(held) > 0:
		return fact{kind: factHeld, saw: held[0].Key.String() + " waits: " + held[0].Reason}, waits
	case s.Configuration == fleet.ConfigPending, s.Configuration == fleet.ConfigFailed:
		return fact{kind: factPending, saw: s.Reason}, waits // the daemon shows what it may not have saved
	case p.Observed != s.Digest || !s.Summarised:
		return fact{kind: factPending, saw: "its folders were not read yet"}, waits
	}
	good := fact{kind: factGood}
	if len(before) > 0 {
		good.saw = before[0].Key.String() + " waits, as it did before this rollout: " + before[0].Reason
	}
	return good, waits
}

// heldIn says what of a plan waits for consent. Refused changes wait in vain.
func (r *Runner) heldIn(digest string, held []plan.Change) heldPlan {
	h := heldPlan{digest: digest}
	for _, c := range held {
		if c.Class == plan.Held {
			if h.same == nil {
				h.same = map[string]string{}
			}
			h.same[c.Key.String()] = r.sameChange(c)
		}
	}
	return h
}

// sameChange is equal for changes that ask for the same at the same place for the same reason. It is keyed: what is
// asked for may be a secret.
func (r *Runner) sameChange(c plan.Change) string {
	h := hmac.New(sha256.New, r.o.DigestKey)
	fmt.Fprintf(h, "%s %s %s %t ", c.Key, c.Class, c.Reason, c.Returns)
	if to := c.Sending(); to.Exists() {
		stconfig.Normalise(to).WriteJSON(h)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// sameWish is equal for changes of one device that ask for the same at the same place, whatever keeps them back. What
// waited for a person before a rollout is not the rollout's fault, and no gate of it.
func (r *Runner) sameWish(w plan.Wish) string {
	h := hmac.New(sha256.New, r.o.DigestKey)
	fmt.Fprintf(h, "wish %x", w)
	return hex.EncodeToString(h.Sum(nil))
}
