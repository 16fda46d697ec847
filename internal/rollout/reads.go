package rollout

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"muster/internal/fleet"
	"muster/internal/template"
)

// A program may look at the tags of its device and of the whole fleet. Whether a change of tags makes a difference to
// such a program is found out by evaluating it twice.

var (
	looksAround   = regexp.MustCompile(`\b(devices|tags|device)\b`)
	looksAtDevice = regexp.MustCompile(`\bdevice\b`)
)

// scene is the fleet as templates see it at one generation.
type scene struct {
	registry *fleet.Registry
	facts    map[fleet.DeviceID]template.Facts
	fleet    *template.Fleet
}

func (r *Runner) scene(registry *fleet.Registry) scene {
	all := r.o.Fleet.Facts(registry)
	s := scene{registry: registry, facts: make(map[fleet.DeviceID]template.Facts, len(all)), fleet: template.NewFleet(all)}
	for _, f := range all {
		s.facts[f.DeviceID] = f
	}
	return s
}

// comparison tells whether templates say the same in two scenes. It remembers what it evaluated.
type comparison struct {
	r    *Runner
	a, b scene
	same map[string]bool // by text: of programs that do not look at their device
	skip map[string]bool // by text: no program
}

func (r *Runner) compare(a, b *fleet.Registry) *comparison {
	return &comparison{r: r, a: r.scene(a), b: r.scene(b), same: map[string]bool{}, skip: map[string]bool{}}
}

// differs tells whether a device's templates say something else in b than in a. The templates that apply are taken to be
// the same.
func (c *comparison) differs(ctx context.Context, id fleet.DeviceID, templates []fleet.Template) bool {
	return slices.ContainsFunc(templates, func(t fleet.Template) bool {
		if c.skip[t.Text] || !looksAround.MatchString(t.Text) {
			return false
		}
		alone := !looksAtDevice.MatchString(t.Text)
		if same, known := c.same[t.Text]; alone && known {
			return !same
		}
		same := c.evaluate(ctx, id, t.Text)
		if alone {
			c.same[t.Text] = same
		}
		return !same
	})
}

// evaluate tells whether a program gives the same in both scenes. What cannot be known counts as different: then the
// change takes the careful way.
func (c *comparison) evaluate(ctx context.Context, id fleet.DeviceID, text string) (same bool) {
	in := func(s scene) (template.Result, error) {
		return c.r.o.Evaluator.Evaluate(ctx, text, template.Input{Device: s.facts[id], Fleet: s.fleet})
	}
	was, wasErr := in(c.a)
	if wasErr == nil && was.Language == template.HJSON {
		c.skip[text] = true
		return true
	}
	if strings.Contains(text, "config") {
		return false // it may look at each device's own
	}
	is, isErr := in(c.b)
	if wasErr != nil || isErr != nil {
		return fleet.CodeOf(wasErr) == fleet.CodeInvalid && fleet.CodeOf(isErr) == fleet.CodeInvalid && wasErr.Error() == isErr.Error()
	}
	return was.Value.Equal(is.Value)
}
