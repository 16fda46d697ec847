// Package desired makes one device's desired configuration: what was there before Muster (the base), with the device's
// templates folded over it in order, and who asked for what. It decides nothing about safety and sends nothing: that is
// the business of plan and reconcile.
package desired

import (
	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// Input is everything that the desired configuration depends on. Same input, same result.
type Input struct {
	Device     fleet.DeviceID
	Observed   stconfig.Value            // as the daemon has it; `ignores` holds the patterns of those folders that were read
	Entries    []fleet.BaseEntry         // what Muster wrote on this device
	Templates  []fleet.Template          // that apply to the device, in the order of the fold
	Registered map[fleet.DeviceID]string // labels
	Evaluate   func(t fleet.Template, config stconfig.Value) (Fragment, error)

	Secret     func(name string) (fleet.SecretScope, bool) // where a secret may go, and whether it is there; nil: all are, anywhere
	Tags       []fleet.Tag                                 // of the device
	AdminSaved func(fleet.Template) bool                   // whether an admin saved the template last; nil: none of them
}

// Fragment is what a template's program makes for this device.
type Fragment struct {
	Value       stconfig.Value
	ReadsConfig bool // the value may depend on `config`: it must stay the same over its own result
}

// Result is the desired configuration and how it came about.
type Result struct {
	Desired stconfig.Value    // secrets of Muster's own are Handles still
	Base    stconfig.Value    // what the fold started from
	Entries []fleet.BaseEntry // as this observation leaves them: what a person wrote over is theirs now
	Skipped []Skipped
	Ignores []string                // folders whose ignore patterns are asked for or were written, sorted
	Implied map[fleet.DeviceID]bool // devices that shared folders bring along

	Doubts    []Doubt
	Conflicts []Conflict

	device     fleet.DeviceID
	observed   stconfig.Value
	entries    []entry
	registered map[fleet.DeviceID]bool // of those that have entries
	asked      []asked
}

// Skipped is a change that a template asks for and this device cannot take.
type Skipped struct {
	Template int64
	Key      stconfig.Key
	Reason   string // for a person
}

// Fold makes the desired configuration. An error stops the whole device; where a template is to blame it has
// CodeInvalid and names the template.
func Fold(in Input) (Result, error) {
	entries, err := load(in.Entries)
	if err != nil {
		return Result{}, err
	}
	entries = settle(entries, in.Observed, in.Device, nil)
	f := fold{Input: in, ignores: map[string]bool{}}
	f.base = rewind(in.Observed, entries)
	if err := f.keepAlong(entries); err != nil {
		return Result{}, err
	}
	f.base = stconfig.Refit(f.base, in.Observed) // bases and written values may be of an earlier version
	f.doc = f.base
	for _, t := range in.Templates {
		if err := f.template(t); err != nil {
			return Result{}, err
		}
	}
	conflicts := f.conflicts()
	f.everyIgnores()
	f.unshare()
	implied, err := f.share()
	if err != nil {
		return Result{}, err
	}
	f.unignore()
	f.fill()
	f.force()
	for _, e := range entries {
		if folder, ok := ignoresOf(e.key); ok {
			f.ignores[folder] = true
		}
	}
	r := Result{
		Desired: f.doc, Base: f.base, Skipped: f.skipped, Doubts: f.doubts, Conflicts: conflicts, Ignores: sortedNames(f.ignores), Implied: implied,
		device: in.Device, observed: in.Observed, asked: f.asked,
	}
	r.entries = r.prune(entries)
	r.registered = map[fleet.DeviceID]bool{}
	for _, e := range r.entries {
		if e.key.Len() == 2 && e.key.HasPrefix(devices) {
			id := fleet.DeviceID(e.key.At(1).Name)
			_, r.registered[id] = in.Registered[id]
		}
	}
	r.Entries = store(r.entries)
	return r, nil
}

// Observed is the document that the fold was given.
func (r Result) Observed() stconfig.Value { return r.observed }
