package rollout

import (
	"context"
	"slices"
	"strings"

	"muster/internal/fleet"
	"muster/internal/stconfig"
	"muster/internal/template"
)

// accessKeys say how a daemon's API is reached.
var accessKeys = []string{"address", "useTLS", "apiKey"}

// changesAccess tells whether a change is about how the API of some devices is reached: their changed templates are
// evaluated. What cannot be evaluated counts, where its key leaves that open: then the change takes the careful way.
func (r *Runner) changesAccess(ctx context.Context, registry *fleet.Registry,
	before map[fleet.DeviceID][]fleet.Template) bool {
	if len(before) < 2 || len(before) > atOnce {
		return false // of one device there is none to go first; many are a rollout anyway
	}
	var view *fleetView
	for id, was := range before {
		for _, t := range different(was, r.catalog.of(id)) {
			path, mayBe := accessPath(t.Key)
			if !mayBe {
				continue
			}
			if view == nil {
				v := r.viewOf(registry)
				view = &v
			}
			made, err := r.o.Evaluator.Evaluate(ctx, t.Text, template.Input{Device: view.facts[id], Fleet: view.fleet})
			if err != nil || namesAccess(path, made.Value) {
				return true
			}
		}
	}
	return false
}

// different are the templates that are in one of two lists only.
func different(a, b []fleet.Template) []fleet.Template {
	in := func(list []fleet.Template, t fleet.Template) bool {
		return slices.ContainsFunc(list, func(u fleet.Template) bool { return sameTemplate(t, u) })
	}
	var only []fleet.Template
	for _, t := range a {
		if !in(b, t) {
			only = append(only, t)
		}
	}
	for _, t := range b {
		if !in(a, t) {
			only = append(only, t)
		}
	}
	return only
}

// accessPath gives the names of a key, and whether it may name one of the access keys.
func accessPath(text string) (names []string, mayBe bool) {
	key, err := stconfig.ParseKey(text)
	if err != nil {
		return nil, false
	}
	for i := range key.Len() {
		names = append(names, key.At(i).Name)
	}
	return names, len(names) == 0 || isName(names[0], "gui") &&
		(len(names) == 1 || slices.ContainsFunc(accessKeys, func(name string) bool {
			return isName(names[1], name)
		}))
}

func isName(name, want string) bool { return name == "*" || strings.EqualFold(name, want) }

// namesAccess tells whether a value at a key sets one of the access keys.
func namesAccess(path []string, value stconfig.Value) bool {
	if len(path) >= 2 {
		return true
	}
	gui := value
	if len(path) == 0 {
		gui = member(value, "gui")
	}
	return slices.ContainsFunc(accessKeys, func(name string) bool { return member(gui, name).Exists() })
}

// member is a member of an object, whatever the case of its name.
func member(v stconfig.Value, name string) stconfig.Value {
	for is, value := range v.Members() {
		if strings.EqualFold(is, name) {
			return value
		}
	}
	return stconfig.Value{}
}
