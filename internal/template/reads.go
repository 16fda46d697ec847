package template

import (
	"maps"
	"slices"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// readsOf finds what a resolved program names; device and config are the parameters of template(), nil without. A
// parameter that is never used is not looked at.
func readsOf(file *syntax.File, device, config *syntax.Ident) fleet.Inputs {
	in := fleet.Inputs{Known: true, Sharing: true} // what the value names is not known before it is run
	fields, whole := map[string]bool{}, false
	means := func(id *syntax.Ident, name string, parameter *syntax.Ident) bool {
		binding, _ := id.Binding.(*resolve.Binding)
		if binding == nil || id == parameter {
			return false
		}
		return binding.Scope == resolve.Predeclared && id.Name == name || parameter != nil && binding.First == parameter
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DotExpr: // device.label
			if id, ok := n.X.(*syntax.Ident); ok && means(id, "device", device) {
				fields[n.Name.Name] = true
				return false
			}
		case *syntax.Ident:
			whole = whole || means(n, "device", device)
			in.Config = in.Config || means(n, "config", config)
			in.Devices = in.Devices || means(n, "devices", nil)
			in.Tags = in.Tags || means(n, "tags", nil)
			in.Secrets = in.Secrets || means(n, "secret", nil)
		}
		return true
	})
	in.Device = fleet.FactsNamed(slices.Sorted(maps.Keys(fields)))
	if whole {
		in.Device = fleet.AllFacts
	}
	return in
}

// namesDevices tells whether an object in a value has a member that lists devices.
func namesDevices(v stconfig.Value) bool {
	for i := range v.Len() {
		if v.Kind() == stconfig.Object && strings.EqualFold(v.Name(i), "devices") || namesDevices(v.At(i)) {
			return true
		}
	}
	return false
}
