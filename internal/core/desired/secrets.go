package desired

import (
	"fmt"
	"slices"
	"strings"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// resolved replaces, in a template's value, the handles that name secrets of the daemon's own configuration by these
// secrets in clear. Handles of Muster's secrets stay. It returns an error for a handle outside of fields for secrets,
// and for one of an unknown secret.
func (f *fold) resolved(doc stconfig.Value, t target, value stconfig.Value) (stconfig.Value, error) {
	if !stconfig.HasHandle(value) {
		return value, nil
	}
	if err := stconfig.CheckHandles(t.key, value); err != nil {
		return value, err
	}
	for h := range stconfig.HandlesAt(t.key, value) {
		if name, ok := h.Secret(); ok && f.Secret != nil {
			if _, there := f.Secret(name); !there {
				return value, &fleet.Error{Code: fleet.CodeInvalid, Message: fmt.Sprintf("there is no secret %q", name),
					Hint: "Store a secret of that name, or correct the name in the template."}
			}
		}
	}
	if err := f.refuseMoved(doc, t, value); err != nil {
		return value, err
	}
	return stconfig.ResolveConfig(value, doc)
}

// refuseMoved refuses a template that copies a secret of the daemon's configuration to another place in it, unless an
// admin saved the template. Muster's own secrets have a list of keys where they may stand; secrets of the
// configuration have none.
func (f *fold) refuseMoved(doc stconfig.Value, t target, value stconfig.Value) error {
	if t.adminSaved || f.Secret == nil {
		return nil
	}
	try := stconfig.Application{Op: t.op, Key: t.key, Value: value, Own: f.Device, From: f.start, Budget: f.newBudget()}
	after, _, err := try.To(doc)
	if err != nil {
		return err
	}
	for _, c := range stconfig.Diff(doc, after) {
		for h := range stconfig.HandlesAt(c.Key, c.To) {
			if _, own := h.Secret(); own || h.Stays() {
				continue
			}
			return &fleet.Error{Code: fleet.CodeInvalid, Message: fmt.Sprintf("%s would also stand at %s", h, h.Key),
				Hint: "Only a template that an admin saved may do that: have an admin save it, or store the text as a secret of " +
					"its own with muster secret put."}
		}
	}
	return nil
}

// mayUse returns an error if the changes put one of Muster's own secrets at a place that the secret's lists of keys
// and tags do not allow.
func (f *fold) mayUse(t target, changes []stconfig.Change) error {
	if f.Secret == nil {
		return nil
	}
	for _, c := range changes {
		for h := range stconfig.HandlesAt(c.Key, c.To) {
			name, own := h.Secret()
			if !own || stconfig.Lookup(f.doc, h.Key) == stconfig.SecretHandle(h.Name) {
				continue
			}
			scope, _ := f.Secret(name)
			if err := f.inScope(t, name, h.Key, scope); err != nil {
				return err
			}
		}
	}
	return nil
}

// inScope returns an error that says why the secret with this name may not stand at key `at` of this device, or nil if
// it may. scope has the secret's lists of keys and tags.
func (f *fold) inScope(t target, name string, at stconfig.Key, scope fleet.SecretScope) error {
	allow := "As an admin, type: muster secret allow " + quoted(name)
	switch {
	case scope.IsZero() && !t.adminSaved:
		return outOfScope(allow+" --key "+quoted(everywhere(at)),
			"secret %q has no list of keys or tags, so only templates that an "+
				"admin saved may use it, and this one was saved by another", name)
	case len(scope.Keys) > 0 && !slices.ContainsFunc(scope.Keys, func(pattern string) bool { return names(pattern, at) }):
		return outOfScope(allow+" --key "+quoted(everywhere(at)), "secret %q is for %s, not for %s", name,
			strings.Join(scope.Keys, ", "), at)
	case len(scope.Tags) > 0 &&
		!slices.ContainsFunc(f.Tags, func(tag fleet.Tag) bool { return slices.Contains(scope.Tags, tag) }):
		return outOfScope(allow+" --tag TAG, with a tag that the device has.",
			"secret %q is for devices tagged %s, and this one "+
				"is not", name, joined(scope.Tags))
	}
	return nil
}

func outOfScope(hint, format string, args ...any) error {
	return &fleet.Error{Code: fleet.CodeInvalid, Message: fmt.Sprintf(format, args...), Hint: hint}
}

// names reports whether pattern, a key in a secret's list, selects the place `at`.
func names(pattern string, at stconfig.Key) bool {
	key, err := stconfig.ParseKey(pattern)
	return err == nil && at.Matches(key)
}

// everywhere returns the key that an error suggests for a secret's list of keys: `at` itself or, for a field of a
// share, the field in the shares of that folder with any device.
func everywhere(at stconfig.Key) string {
	if at.Len() == 5 && at.HasPrefix(folders) {
		return fmt.Sprintf("%s.devices.*.%s", folders.Child(at.At(1).Name), at.At(4).Name)
	}
	return at.String()
}

// quoted returns a text as an argument for a shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func joined(tags []fleet.Tag) string {
	texts := make([]string, len(tags))
	for i, tag := range tags {
		texts[i] = string(tag)
	}
	return strings.Join(texts, ", ")
}
