// Package desired makes one device's desired configuration: what was there before Muster (the base), with the device's
// templates folded over it in order, and who asked for what. It decides nothing about safety and sends nothing: that
// is the business of plan and reconcile.
package desired

import (
	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// Input is everything that the desired configuration depends on. Same input, same result.
type Input struct {
	Device fleet.DeviceID
	// as the daemon has it; `ignores` holds the patterns of those folders that were read
	Observed stconfig.Value
	Run      string // of the daemon that has it, see Reading
	// why the ignore patterns of a folder were not read, where that is known
	Unread     map[string]string
	Entries    []fleet.BaseEntry                                    // what Muster wrote on this device
	Templates  []fleet.Template                                     // that apply to the device, in the order of the fold
	OS         string                                               // of the daemon, as GOOS; "" when it is not known
	Registered func(fleet.DeviceID) (label string, registered bool) // nil: no device is
	Evaluate   func(t fleet.Template, config stconfig.Value) (Fragment, error)

	// where a secret may go, and whether it is there; nil: all are, anywhere
	Secret      func(name string) (fleet.SecretScope, bool)
	Take        func(bytes int64) error   // is asked before memory is used; nil: memory is not bounded
	SecretBytes func(name string) int     // how long a secret is; nil: as long as its name
	Tags        []fleet.Tag               // of the device
	AdminSaved  func(fleet.Template) bool // whether an admin saved the template last; nil: none of them

	folded func(t fleet.Template, before, after stconfig.Value) // is told of each template; nil: nothing is
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

	device   fleet.DeviceID
	observed stconfig.Value
	records  []record
	asked    []asked
	laid     []laid
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
	records, err := load(in.Entries)
	if err != nil {
		return Result{}, err
	}
	records = settle(records, Reading{Document: in.Observed, Own: in.Device, Run: in.Run})
	records = overruled(records, rewind(in.Observed, records))
	f := newFold(in, records)
	for _, t := range in.Templates {
		if err := f.template(t); err != nil {
			return Result{}, err
		}
	}
	conflicts := f.conflicts()
	f.everyIgnores()
	f.unshare()
	if err := f.share(); err != nil {
		return Result{}, err
	}
	f.unignore()
	f.fill()
	f.force()
	r := Result{
		Desired: f.doc, Base: f.base, Skipped: f.skipped, Doubts: f.doubts, Conflicts: conflicts, Implied: f.implied,
		device: in.Device, observed: in.Observed, asked: f.asked, laid: f.laid,
	}
	r.reclaim(records)
	r.imply(records)
	r.vouch(records)
	r.records = r.prune(records)
	for _, rec := range r.records {
		if folder, ok := ignoresOf(rec.key); ok && rec.State != fleet.BaseReturned {
			f.ignores[folder] = true
		}
	}
	r.Ignores, r.Entries = sortedNames(f.ignores), store(r.records)
	return r, nil
}

// Observed is the document that the fold was given.
func (r Result) Observed() stconfig.Value { return r.observed }
