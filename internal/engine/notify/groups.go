package notify

import (
	"cmp"
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"time"

	"muster/internal/fleet"
)

// Routes send the announced problems to channels, grouped by kind and tag. A group is told once when it begins, again
// when problems are added or when its route repeats it, and once when all its problems are over. Who was told of a
// group is told of its end too, although no route sends its problems there any more.

const (
	groupWaitRounds  = 2  // reports between the first problem of a group and its message: more may come
	groupPauseRounds = 20 // reports between two messages about a group that grows
	maxToldProblems  = 50 // problems that one message names
)

// rules are what people said about who is told of what.
type rules struct {
	routes   []fleet.Route
	silences []fleet.Silence
	public   string // URL of the server for people; "": it is not known
}

// silenced reports whether a silence fits a problem.
func (r rules) silenced(c Condition, now time.Time) bool {
	return slices.ContainsFunc(r.silences, func(s fleet.Silence) bool { return s.Until.After(now) && s.Match.Fits(c) })
}

// routesDefault reports whether a route names the receivers of flags and settings. Otherwise they get everything.
func (r rules) routesDefault() bool {
	return slices.ContainsFunc(r.routes, func(route fleet.Route) bool {
		return slices.Contains(route.Channels, fleet.DefaultChannel)
	})
}

// group is the problems that one message tells.
type group struct {
	key      fleet.ToldGroupKey
	route    fleet.Route // the first of those that send the problems
	order    int         // place of the route in rules.routes
	problems []Problem   // sorted by compareKeys
	audible  bool        // At least one problem is not silenced.
}

// groupsOf sorts the announced problems into groups, in the order in which they come. Where two routes send problems to
// one group, or one problem to one channel, the first counts.
func (r rules) groupsOf(announced []Problem, now time.Time) map[fleet.ToldGroupKey]*group {
	groups := map[fleet.ToldGroupKey]*group{}
	for _, p := range announced {
		reached := map[string]bool{}
		for order, route := range r.routes {
			if !route.Match.Fits(p.Condition) {
				continue
			}
			for _, channel := range route.Channels {
				if reached[channel] {
					continue
				}
				reached[channel] = true
				key := fleet.ToldGroupKey{Channel: channel, Kind: p.Kind, Tag: route.GroupOf(p.Condition)}
				g := groups[key]
				if g == nil {
					g = &group{key: key, route: route, order: order}
					groups[key] = g
				}
				if order < g.order {
					g.route, g.order = route, order
				}
				g.problems = append(g.problems, p)
				g.audible = g.audible || !r.silenced(p.Condition, now)
			}
		}
	}
	return groups
}

// tellGroups stores the messages of routes that are due.
func (n *Notifier) tellGroups(ctx context.Context, now time.Time) error {
	rules, announced := n.announced()
	groups := rules.groupsOf(announced, now)
	change := &groupChange{lasting: map[Key]bool{}}
	for _, p := range announced {
		change.lasting[p.ProblemKey] = true
	}
	told := maps.Clone(n.told)
	for key, g := range groups {
		was, isTold := told[key]
		if !n.hasChannel(key.Channel) || g.route.QuietFrom != "" && g.route.IsQuiet(now.Local()) {
			continue
		}
		if !isTold {
			if g.audible && n.hasWaited(key, now) {
				change.tell(n, rules, g, fleet.ToldGroup{ToldGroupKey: key}, now, false)
			}
			continue
		}
		n.update(change, rules, g, was, now)
	}
	for key, was := range told {
		if groups[key] == nil {
			n.finish(change, rules, was, now)
		}
	}
	for key := range n.began { // It was over before it was told.
		if groups[key] == nil {
			delete(n.began, key)
		}
	}
	return n.storeGroups(ctx, change.Change)
}

// announced returns the rules, and the announced problems as they are now.
func (n *Notifier) announced() (rules, []Problem) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var all []Problem
	for _, t := range n.problems {
		if t.announced == nil {
			continue
		}
		p := *t.announced
		if t.latest.Kind != "" { // The last report had it.
			p.Tags, p.Label, p.Reason, p.Next = t.latest.Tags, t.latest.Label, t.latest.Reason, t.latest.Next
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b Problem) int { return compareKeys(a.ProblemKey, b.ProblemKey) })
	return n.rules, all
}

func (n *Notifier) hasChannel(name string) bool {
	return slices.ContainsFunc(n.deliveries, func(d *delivery) bool { return d.channel == name })
}

// hasWaited reports whether the first problem of a group has waited for others.
func (n *Notifier) hasWaited(key fleet.ToldGroupKey, now time.Time) bool {
	began, known := n.began[key]
	if !known {
		n.began[key], began = now, now
	}
	return now.Sub(began) >= groupWaitRounds*n.now.every
}

// update tells of a group again when problems were added, or when its route repeats it.
func (n *Notifier) update(change *groupChange, rules rules, g *group, was fleet.ToldGroup, now time.Time) {
	known := map[Key]bool{}
	for _, key := range was.Problems {
		known[key] = true
	}
	added := slices.ContainsFunc(g.problems, func(p Problem) bool {
		return !known[p.ProblemKey] && !rules.silenced(p.Condition, now)
	})
	pause := now.Sub(was.ToldAt)
	switch {
	case added && pause >= groupPauseRounds*n.now.every:
		change.tell(n, rules, g, was, now, false)
	case g.route.Repeat > 0 && pause >= g.route.Repeat && g.audible:
		change.tell(n, rules, g, was, now, true)
	default:
		change.takeOut(was)
	}
}

// finish tells that a group is over, which no route makes now. It is not over while a problem lasts of which a route
// told before somebody changed it. In quiet hours of all routes that name its channel it waits for their end.
func (n *Notifier) finish(change *groupChange, rules rules, was fleet.ToldGroup, now time.Time) {
	hasChannel := n.hasChannel(was.Channel)
	if !hasChannel && n.now.unsure { // The channel may come back.
		return
	}
	if hasChannel {
		if len(change.left(was)) > 0 {
			change.takeOut(was)
			return
		}
		if rules.isQuiet(was.Channel, now) {
			return
		}
		notice := Message{ID: rand.Text(), ProblemID: was.ID, Type: fleet.NoticeResolved, Kind: was.Kind,
			Reason: "all of them are over", Since: was.Since.UTC(), At: now.UTC(), Group: &fleet.NoticeGroup{
				Channel: was.Channel, Tag: was.Tag, Severity: fleet.WaitTexts[was.Kind].Severity, Count: was.Count,
				Problems: []fleet.ToldProblem{}}}
		notice.Group.Summary = overSummary(was)
		notice.Link = linkTo(rules.public, "", "")
		change.post(n, was.Channel, notice)
	}
	change.Forget = append(change.Forget, was.ToldGroupKey)
}

func (r rules) isQuiet(channel string, now time.Time) bool {
	quiet := false
	for _, route := range r.routes {
		if slices.Contains(route.Channels, channel) {
			if route.QuietFrom == "" || !route.IsQuiet(now.Local()) {
				return false
			}
			quiet = true
		}
	}
	return quiet
}

// groupChange is the change of groups that one report makes.
type groupChange struct {
	Change

	lasting map[Key]bool // problems that are announced
}

// left returns the problems of a group that are not over.
func (c *groupChange) left(was fleet.ToldGroup) []Key {
	return slices.DeleteFunc(slices.Clone(was.Problems), func(key Key) bool { return !c.lasting[key] })
}

// takeOut takes the problems that are over out of a group, so that each is told again when it comes back.
func (c *groupChange) takeOut(was fleet.ToldGroup) {
	if left := c.left(was); len(left) < len(was.Problems) {
		was.Problems = left
		c.Tell = append(c.Tell, was)
	}
}

// tell adds the message about a group.
func (c *groupChange) tell(n *Notifier, rules rules, g *group, was fleet.ToldGroup, now time.Time, repeated bool) {
	notice := g.notice(rules.public, now)
	notice.ProblemID = cmp.Or(was.ID, notice.ID)
	notice.Group.Repeated = repeated
	is := fleet.ToldGroup{ToldGroupKey: g.key, ID: notice.ProblemID, Since: notice.Since, ToldAt: now,
		Count: len(g.problems), Problems: c.left(was)}
	for _, p := range g.problems {
		if !slices.Contains(is.Problems, p.ProblemKey) {
			is.Problems = append(is.Problems, p.ProblemKey)
		}
	}
	c.Tell = append(c.Tell, is)
	c.post(n, g.key.Channel, notice)
}

// post adds a notice for the receivers of a channel.
func (c *groupChange) post(n *Notifier, channel string, notice Message) {
	post := fleet.Post{Notice: notice}
	for _, d := range n.deliveries {
		if d.channel == channel {
			post.Receivers = append(post.Receivers, d.name)
		}
	}
	c.Posts = append(c.Posts, post)
}

// storeGroups stores a change of groups, and wakes the deliveries that have something to send.
func (n *Notifier) storeGroups(ctx context.Context, change Change) error {
	if len(change.Tell)+len(change.Forget) == 0 {
		return nil
	}
	if err := n.o.Store.Announce(ctx, change); err != nil {
		n.mu.Lock()
		n.unsure = true // The write may be durable although the answer was lost.
		n.mu.Unlock()
		return err
	}
	for _, key := range change.Forget {
		delete(n.told, key)
	}
	for _, g := range change.Tell {
		n.told[g.ToldGroupKey] = g
		delete(n.began, g.ToldGroupKey)
	}
	for _, post := range change.Posts {
		for _, d := range n.deliveries {
			if slices.Contains(post.Receivers, d.name) {
				d.more(1)
			}
		}
	}
	return nil
}
