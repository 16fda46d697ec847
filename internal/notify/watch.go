package notify

import (
	"cmp"
	"context"
	"slices"
	"time"

	"muster/internal/logkey"
)

// tracked is a problem that was seen: it waits until it is old enough, or is announced.
type tracked struct {
	began     time.Time // when this process first saw it, or saw it begin again
	latest    Condition
	announced *Problem // nil: not yet
}

// watch asks for reports until ctx ends.
func (n *Notifier) watch(ctx context.Context) error {
	ticker := time.NewTicker(n.o.Every)
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

// look takes one report in.
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
			return nil // with the next report
		}
		some := min(len(due), maxTogether)
		others := min(len(over), maxTogether-some)
		if err := n.announce(ctx, due[:some], over[:others], now); err != nil {
			return err
		}
		due, over = due[some:], over[others:]
	}
	return nil
}

// compare finds the problems that are to be announced and those that are over, in a fixed order.
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
			n.problems[c.ProblemKey] = t
		}
		if t.announced == nil && c.Since.After(t.began) {
			t.began = c.Since
		}
		t.latest = c
		if t.announced == nil && now.Sub(t.began) >= n.o.After {
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
	return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.Folder, b.Folder), cmp.Compare(a.Kind, b.Kind))
}

// announce makes messages durable, with what they say about the problems, and only then lets them be sent.
func (n *Notifier) announce(ctx context.Context, due []*tracked, over []Problem, now time.Time) error {
	var change Change
	for _, d := range n.deliveries {
		change.Receivers = append(change.Receivers, d.name)
	}
	for _, p := range over {
		change.Close = append(change.Close, p.ProblemKey)
		change.Notices = append(change.Notices, closing(p, now))
	}
	for _, t := range due {
		message, problem := opening(t.latest, t.began, now)
		change.Open = append(change.Open, problem)
		change.Notices = append(change.Notices, message)
	}
	err := n.o.Store.Announce(ctx, change)
	n.mu.Lock()
	if err != nil {
		n.unsure = true // perhaps it is durable, and only the answer was lost
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
		d.more(len(change.Notices))
	}
	return nil
}

func (n *Notifier) isUnsure() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.unsure
}

// crowded tells whether a receiver has not taken so many messages that no new ones are made: what was announced is
// never dropped for what comes after, and problems that end unannounced need no message.
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
