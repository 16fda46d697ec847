package notify

import (
	"cmp"
	"context"
	"slices"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// tracked is a current problem. It is announced once it has lasted long enough.
type tracked struct {
	began     time.Time // time at which this process first saw the problem, or saw it begin again
	latest    Condition
	announced *Problem // nil while the problem is not announced
}

// watch handles a report every Options.Every, until ctx ends.
func (n *Notifier) watch(ctx context.Context) error {
	ticker := time.NewTicker(n.now.every)
	defer ticker.Stop()
	failing := false
	for {
		err := n.look(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !failing:
			n.log.Warn("problems cannot be announced", logkey.Err(err))
		case err == nil && failing:
			n.log.Info("problems can be announced again")
		}
		failing = err != nil
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// look handles one report.
func (n *Notifier) look(ctx context.Context) error {
	if n.isUnsure() {
		if err := n.loadOnce(ctx); err != nil {
			return err
		}
	}
	if _, err := n.recount(ctx); err != nil {
		return err
	}
	report, err := n.o.Source.Report(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	due, over := n.compare(report, now)
	for len(due)+len(over) > 0 {
		if n.crowded() {
			return nil // The rest is announced with a later report.
		}
		some := min(len(due), maxTogether)
		others := min(len(over), maxTogether-some)
		if err := n.announce(ctx, due[:some], over[:others], now); err != nil {
			return err
		}
		due, over = due[some:], over[others:]
	}
	return n.tellGroups(ctx, now)
}

// compare returns the problems that must be announced and those that are over, in a fixed order.
func (n *Notifier) compare(report Report, now time.Time) (due []*tracked, over []Problem) {
	n.mu.Lock()
	defer n.mu.Unlock()
	present := make(map[Key]bool, len(report.Conditions))
	for _, c := range report.Conditions {
		if present[c.ProblemKey] {
			continue
		}
		present[c.ProblemKey] = true
		t := n.problems[c.ProblemKey]
		if t == nil {
			t = &tracked{began: now}
			if slices.Contains(fleet.TroubleCauses, c.Kind) && !c.Since.IsZero() && c.Since.Before(now) {
				t.began = c.Since // A condition becomes trouble only after some time, which counts here too.
			}
			n.problems[c.ProblemKey] = t
		}
		if t.announced == nil && c.Since.After(t.began) {
			t.began = c.Since
		}
		t.latest = c
		if t.announced == nil && now.Sub(t.began) >= n.now.after && !n.rules.silenced(c, now) {
			due = append(due, t)
		}
	}
	for key, t := range n.problems {
		switch {
		case present[key] || report.Unknown != nil && report.Unknown(key):
		case t.announced != nil:
			over = append(over, *t.announced)
		default:
			delete(n.problems, key)
		}
	}
	slices.SortFunc(due, func(a, b *tracked) int { return compareKeys(a.latest.ProblemKey, b.latest.ProblemKey) })
	slices.SortFunc(over, func(a, b Problem) int { return compareKeys(a.ProblemKey, b.ProblemKey) })
	return due, over
}

func compareKeys(a, b Key) int {
	return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.Folder, b.Folder), cmp.Compare(a.Kind, b.Kind),
		cmp.Compare(a.Subject, b.Subject))
}

// announce stores messages together with the state of their problems. Only then does it wake the deliveries.
func (n *Notifier) announce(ctx context.Context, due []*tracked, over []Problem, now time.Time) error {
	n.mu.Lock()
	rules := n.rules
	n.mu.Unlock()
	var change Change
	for _, d := range n.deliveries {
		if d.channel == fleet.DefaultChannel {
			change.Receivers = append(change.Receivers, d.name)
		}
	}
	for _, p := range over {
		change.Close = append(change.Close, p.ProblemKey)
		if !p.Routed {
			change.Notices = append(change.Notices, closing(p, rules.public, now))
		}
	}
	for _, t := range due {
		message, problem := opening(t.latest, t.began, rules.public, now)
		if problem.Routed = rules.routesDefault(); !problem.Routed {
			change.Notices = append(change.Notices, message)
		}
		change.Open = append(change.Open, problem)
	}
	err := n.o.Store.Announce(ctx, change)
	n.mu.Lock()
	if err != nil {
		n.unsure = true // The write may be durable although the answer was lost.
		n.mu.Unlock()
		return err
	}
	for _, key := range change.Close {
		delete(n.problems, key)
	}
	for i, t := range due {
		t.announced = &change.Open[i]
	}
	n.mu.Unlock()
	for _, d := range n.deliveries {
		if slices.Contains(change.Receivers, d.name) {
			d.more(len(change.Notices))
		}
	}
	return nil
}

func (n *Notifier) isUnsure() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.unsure
}

// crowded reports whether a receiver has so many waiting messages that no new problems are announced. Muster never
// drops an announced message for a newer one, and a problem that ends before it was announced needs no message.
func (n *Notifier) crowded() bool {
	full := slices.ContainsFunc(n.deliveries, func(d *delivery) bool { return d.standing().Waiting >= maxWaiting })
	n.mu.Lock()
	defer n.mu.Unlock()
	if full && !n.full {
		n.log.Error("too many messages wait for a receiver: nothing new is announced", logkey.Count, maxWaiting)
	}
	n.full = full
	return full
}
