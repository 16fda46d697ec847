package rollout

import (
	"bytes"
	"context"
	"slices"

	"muster/internal/fleet"
	"muster/internal/template"
)

// A program may read the tags and vars of its device, and the tags of the whole fleet. Where they changed, evaluating
// the program twice tells whether that makes a difference to it.

// readsFleet tells whether a template may give another value after a change of tags or vars.
func readsFleet(t fleet.Template) bool {
	reads := t.Reads.OrAll()
	return reads.ReadsTagsOfDevices() || reads.ReadsVars()
}

// factsOf is the fleet of a registry as templates see it.
func (r *Runner) factsOf(registry *fleet.Registry) *template.Fleet {
	all := make([]template.Facts, 0, len(registry.Devices))
	for id, d := range registry.Devices {
		all = append(all, template.FactsOf(d, r.o.Fleet.Version(id)))
	}
	return template.NewFleet(all)
}

// comparison tells whether templates give the same in two registries. It remembers what it evaluated.
type comparison struct {
	r    *Runner
	a, b side
	same map[string]bool // by text, of programs that do not read their device
}

// side is a registry with the facts of its devices.
type side struct {
	*template.Fleet
	registry *fleet.Registry
}

// Of are the facts of one device, with its vars.
func (s side) Of(id fleet.DeviceID) template.Facts {
	facts := s.Fleet.Of(id)
	facts.Vars = s.registry.VarsOf(id)
	return facts
}

func (r *Runner) compare(a, b *fleet.Registry) *comparison {
	return &comparison{r: r, a: side{r.factsOf(a), a}, b: side{r.factsOf(b), b}, same: map[string]bool{}}
}

// differs tells whether a device's templates give something else in b than in a. The same templates apply in both.
func (c *comparison) differs(ctx context.Context, id fleet.DeviceID, templates []fleet.Template) bool {
	return slices.ContainsFunc(templates, func(t fleet.Template) bool {
		switch reads := t.Reads.OrAll(); {
		case !c.inputsDiffer(id, reads):
			return false
		case reads.Config:
			return true // each device has its own
		case reads.Device.Any():
			return !c.evaluate(ctx, id, t.Text)
		}
		same, known := c.same[t.Text]
		if !known {
			same = c.evaluate(ctx, id, t.Text)
			c.same[t.Text] = same
		}
		return !same
	})
}

// inputsDiffer tells whether what a program reads of its device and of the fleet is another in b than in a.
func (c *comparison) inputsDiffer(id fleet.DeviceID, reads fleet.Inputs) bool {
	return reads.Devices && c.a.Digest() != c.b.Digest() || reads.Tags && c.a.TagsDigest() != c.b.TagsDigest() ||
		!bytes.Equal(c.a.Of(id).AppendDigest(nil, reads.Device), c.b.Of(id).AppendDigest(nil, reads.Device))
}

// evaluate tells whether a program gives the same in both. What cannot be known counts as different: then the change
// takes the careful way.
func (c *comparison) evaluate(ctx context.Context, id fleet.DeviceID, text string) (same bool) {
	in := func(of side) (template.Result, error) {
		return c.r.o.Evaluator.Evaluate(ctx, text, template.Input{Device: of.Of(id), Fleet: of.Fleet})
	}
	was, wasErr := in(c.a)
	is, isErr := in(c.b)
	if wasErr != nil || isErr != nil {
		return fleet.CodeOf(wasErr) == fleet.CodeInvalid && fleet.CodeOf(isErr) == fleet.CodeInvalid &&
			wasErr.Error() == isErr.Error()
	}
	return was.Value.Equal(is.Value)
}
