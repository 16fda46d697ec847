package desired

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"sync"

	"muster/internal/core/template"
	"muster/internal/fleet"
)

// A program may read the tags and vars of its device, and the tags of the whole fleet. When tags or vars change, a
// Comparison evaluates the program with the old and with the new ones to find out whether its value changes.

// Comparison compares the values that templates make for devices under two registries, a and b. The daemons'
// configurations do not count. It remembers the results of programs that do not read their device.
type Comparison struct {
	a, b     Fleet
	evaluate Program
	same     map[string]bool  // results by text, for programs that do not read their device
	peers    []fleet.DeviceID // devices that only one of a and b has, or whose label differs
}

// Program returns the value of a template's program.
type Program func(text string, in template.Input) (template.Result, error)

// Fleet is a registry with the facts of its devices.
type Fleet struct {
	*template.Fleet
	registry *fleet.Registry
	peers    func() *template.Fleet // the devices as programs that read peers see them; made once
}

// FleetOf returns the fleet of a registry as templates see it. version returns the version of a daemon, or zero if it
// is not known.
func FleetOf(registry *fleet.Registry, version func(fleet.DeviceID) fleet.Version) Fleet {
	return Fleet{template.FleetOf(registry, version, false), registry,
		sync.OnceValue(func() *template.Fleet { return template.FleetOf(registry, version, true) })}
}

// Of returns the facts of one device, with its vars.
func (f Fleet) Of(id fleet.DeviceID) template.Facts {
	facts := f.Fleet.Of(id)
	facts.Vars = f.registry.VarsOf(id)
	return facts
}

// Compare makes the Comparison of two fleets. It evaluates nothing yet.
func Compare(a, b Fleet, evaluate Program) *Comparison {
	return &Comparison{a: a, b: b, evaluate: evaluate, same: map[string]bool{}, peers: otherPeers(a.registry, b.registry)}
}

// Alters reports whether a device's templates may give it another configuration in b than in a: other templates apply,
// a template may give another value, or may share a folder with one of the peers. The device must be registered in
// both.
func (c *Comparison) Alters(id fleet.DeviceID) bool {
	apply := c.b.registry.TemplatesOf(id)
	return !SameTemplates(c.a.registry.TemplatesOf(id), apply) || c.Differs(id, apply) || c.sharesWithPeers(id, apply)
}

// Differs reports whether these templates, which apply to the device in both a and b, may give it another value in b
// than in a.
func (c *Comparison) Differs(id fleet.DeviceID, templates []fleet.Template) bool {
	return slices.ContainsFunc(templates, func(t fleet.Template) bool {
		switch reads := t.Reads.OrAll(); {
		case !c.inputsDiffer(id, reads):
			return false
		case reads.Config:
			return true // The device's configuration is not at hand here.
		case reads.Device.Any():
			return !c.givesTheSame(id, t)
		}
		same, known := c.same[t.Text]
		if !known {
			same = c.givesTheSame(id, t)
			c.same[t.Text] = same
		}
		return !same
	})
}

// inputsDiffer reports whether the inputs that a program reads, of its device and of the fleet, differ between a and b.
func (c *Comparison) inputsDiffer(id fleet.DeviceID, reads fleet.Inputs) bool {
	return reads.Peers && c.a.peers().Digest() != c.b.peers().Digest() ||
		reads.Devices && c.a.Digest() != c.b.Digest() || reads.Tags && c.a.TagsDigest() != c.b.TagsDigest() ||
		!bytes.Equal(c.a.Of(id).AppendDigest(nil, reads.Device), c.b.Of(id).AppendDigest(nil, reads.Device))
}

// givesTheSame reports whether a program gives the same value in a and b, or fails in both with the same error of
// CodeInvalid. Any other failure counts as a different value.
func (c *Comparison) givesTheSame(id fleet.DeviceID, t fleet.Template) bool {
	was, wasErr := c.valueIn(c.a, id, t)
	is, isErr := c.valueIn(c.b, id, t)
	if wasErr != nil || isErr != nil {
		return fleet.CodeOf(wasErr) == fleet.CodeInvalid && fleet.CodeOf(isErr) == fleet.CodeInvalid &&
			wasErr.Error() == isErr.Error()
	}
	return was.Value.Equal(is.Value)
}

func (c *Comparison) valueIn(of Fleet, id fleet.DeviceID, t fleet.Template) (template.Result, error) {
	others := of.Fleet
	if t.Reads.Peers {
		others = of.peers()
	}
	return c.evaluate(t.Text, template.Input{Device: of.Of(id), Fleet: others})
}

// ReadsFleet reports whether a change of tags or vars may change the value of a template.
func ReadsFleet(t fleet.Template) bool {
	reads := t.Reads.OrAll()
	return reads.ReadsTagsOfDevices() || reads.ReadsVars()
}

// otherPeers returns the devices that only one of the registries has, or that have different labels in them. A
// folder that templates share with such a device is shared differently in b.
func otherPeers(a, b *fleet.Registry) []fleet.DeviceID {
	peers := map[fleet.DeviceID]bool{}
	for _, sides := range [][2]*fleet.Registry{{a, b}, {b, a}} {
		for id, d := range sides[0].Devices {
			if other := sides[1].Devices[id]; other == nil || other.Label != d.Label {
				peers[id] = true
			}
		}
	}
	return slices.Collect(maps.Keys(peers))
}

// sharesWithPeers reports whether one of the templates may share a folder with one of the peers. It also returns true
// if a template that may share folders cannot be evaluated in b, or depends on the device's configuration.
func (c *Comparison) sharesWithPeers(id fleet.DeviceID, templates []fleet.Template) bool {
	if len(c.peers) == 0 {
		return false
	}
	return slices.ContainsFunc(templates, func(t fleet.Template) bool {
		if !MayShare(t) {
			return false
		}
		value, err := c.valueIn(c.b, id, t)
		if err != nil || t.Reads.OrAll().Config {
			return true
		}
		text := bare(t.Key + " " + string(value.Value.JSON()))
		return slices.ContainsFunc(
			c.peers,
			func(peer fleet.DeviceID) bool { return strings.Contains(text, bare(string(peer))) },
		)
	})
}

// bare returns a text in upper case without dashes, so that a device ID is found in it in any spelling.
func bare(text string) string { return strings.ReplaceAll(strings.ToUpper(text), "-", "") }

// SameTemplates reports whether two lists of templates, in the order of the fold, mean the same to a device. Labels and
// dates do not count. Of priorities only the order counts, and only among templates that may set the same key.
func SameTemplates(a, b []fleet.Template) bool {
	if len(a) != len(b) {
		return false
	}
	for i, t := range a {
		place := slices.IndexFunc(b, func(u fleet.Template) bool { return SameTemplate(t, u) })
		if place < 0 {
			return false
		}
		for _, before := range a[:i] {
			overtaken := slices.ContainsFunc(b[place:], func(u fleet.Template) bool { return u.ID == before.ID })
			if overtaken && !AreIndependent(before, t) {
				return false
			}
		}
	}
	return true
}

// SameTemplate reports whether two templates have the same ID, op, key and text.
func SameTemplate(a, b fleet.Template) bool {
	return a.ID == b.ID && a.Op == b.Op && a.Key == b.Key && a.Text == b.Text
}
