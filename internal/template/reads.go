package template

import (
	"maps"
	"slices"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"
)

// Inputs says what a program looks at, found in its text: programs that look at the same get the same result.
type Inputs struct {
	Device  Fields `json:"device"`  // of the device it is evaluated for
	Config  bool   `json:"config"`  // the configuration so far
	Devices bool   `json:"devices"` // the facts of the whole fleet
	Tags    bool   `json:"tags"`    // the names of all tags
	Secrets bool   `json:"secrets"` // which secrets there are
}

// Fields says which facts of its device a program looks at.
type Fields struct {
	All   bool     `json:"all"`   // the device as a whole is passed on, or a fact is picked at run time
	Names []string `json:"names"` // sorted; empty when All
}

// Any tells whether the program looks at its device at all.
func (f Fields) Any() bool { return f.All || len(f.Names) > 0 }

// readsOf finds what a resolved program names; device and config are the parameters of template(), nil without. A
// parameter that is never used is not looked at.
func readsOf(file *syntax.File, device, config *syntax.Ident) Inputs {
	var in Inputs
	fields := map[string]bool{}
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
			in.Device.All = in.Device.All || means(n, "device", device)
			in.Config = in.Config || means(n, "config", config)
			in.Devices = in.Devices || means(n, "devices", nil)
			in.Tags = in.Tags || means(n, "tags", nil)
			in.Secrets = in.Secrets || means(n, "secret", nil)
		}
		return true
	})
	if !in.Device.All {
		in.Device.Names = slices.Sorted(maps.Keys(fields))
	}
	return in
}
