// Package desired computes the desired configuration of one device: the base (the configuration without Muster), with
// the device's templates folded over it in order. It also records which template asked for what. It decides nothing
// about safety and sends nothing: that is the work of plan and reconcile. DESIGN.md has the five rules of ownership.
//
// In this package a member is an entry of a list whose entries have IDs: a folder, a device, a share, an ignored
// device. A place is what a key names: a value, or the presence of a member.
package desired

import (
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Input is everything that the desired configuration depends on. The same input gives the same result.
type Input struct {
	Device fleet.DeviceID
	// Observed is the daemon's document. Its section `ignores` holds the patterns of the folders that were read.
	Observed stconfig.Value
	Run      string // run of the daemon that showed Observed; see Reading.Run
	// Unread has, by folder ID, the reason why the folder's ignore patterns were not read. A folder whose reason is not
	// known has no entry.
	Unread     map[string]string
	Entries    []fleet.BaseEntry                                    // ownership records: what Muster wrote on this device
	Templates  []fleet.Template                                     // the device's templates, in the order of the fold
	OS         string                                               // the daemon's GOOS; "" when unknown
	Registered func(fleet.DeviceID) (label string, registered bool) // nil: no device is registered
	Evaluate   func(t fleet.Template, config stconfig.Value) (Fragment, error)

	// Secret reports whether the secret with this name exists, and at which keys and devices it may be used. Nil: every
	// secret exists and may be used anywhere.
	Secret func(name string) (fleet.SecretScope, bool)
	// Take is called before that many bytes of memory are used. An error of Take ends the fold. Nil: memory is not
	// bounded.
	Take func(bytes int64) error
	// SecretBytes returns the length of the secret with this name. Nil: the length of the secret's handle counts instead.
	SecretBytes func(name string) int
	Tags        []fleet.Tag               // tags of the device
	AdminSaved  func(fleet.Template) bool // reports whether an admin saved the template last; nil: no admin saved any
	// Away has the revoked devices other than Device, each with a text that says since when it is revoked.
	Away map[fleet.DeviceID]string

	folded func(t fleet.Template, before, after stconfig.Value) // called after each template; may be nil
}

// Fragment is the value that a template gives for this device.
type Fragment struct {
	Value       stconfig.Value
	ReadsConfig bool // The value may depend on `config`, see checkIdempotent.
}

// Result is the desired configuration and how it came about.
type Result struct {
	Desired stconfig.Value    // Muster's own secrets are still Handles
	Base    stconfig.Value    // the document that the fold started from
	Entries []fleet.BaseEntry // the ownership records after this reading
	Skipped []Skipped
	Ignores []string                // folders whose ignore patterns a template names or Muster wrote, sorted
	Implied map[fleet.DeviceID]bool // devices that are there only because a folder is shared with them

	Mistakes  []Mistake
	Conflicts []Conflict

	device   fleet.DeviceID
	away     map[fleet.DeviceID]string // Input.Away
	observed stconfig.Value
	records  []record
	requests []request
	applied  []applied
}

// Skipped is a change that a template asks for and that the desired configuration leaves out: the device has no place
// for it, or something overrules the template there.
type Skipped struct {
	Template int64
	Key      stconfig.Key
	Reason   string // sentence for a person
}

// Fold computes the desired configuration. After an error the device has no desired configuration at all. If a
// template is to blame, the error has CodeInvalid and names the template.
func Fold(in Input) (Result, error) {
	records, err := in.records()
	if err != nil {
		return Result{}, err
	}
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
		Desired: f.doc, Base: f.base, Skipped: f.skipped, Mistakes: f.mistakes, Conflicts: conflicts, Implied: f.implied,
		device: in.Device, away: in.Away, observed: in.Observed, requests: f.requests, applied: f.applied,
	}
	r.reclaim(records)
	r.markImplied(records)
	r.markAdmins(records)
	r.endRevocations(records)
	r.keep(r.prune(records), f.ignores)
	return r, nil
}

// records returns the device's ownership records, updated by what the observed document shows.
func (in Input) records() ([]record, error) {
	records, err := load(in.Entries, in.Observed)
	if err != nil {
		return nil, err
	}
	records = observe(records, Reading{Document: in.Observed, Own: in.Device, Run: in.Run})
	records = forgetAway(records, in.Observed, in.Away)
	return withoutForgottenIgnores(records, rewind(in.Observed, records)), nil
}

// keep puts the records into the result. ignores has the folders whose ignore patterns templates name. keep adds the
// folders whose patterns Muster wrote.
func (r *Result) keep(records []record, ignores map[string]bool) {
	for _, rec := range records {
		if folder, ok := ignoresOf(rec.key); ok && rec.State != fleet.BaseReturned {
			ignores[folder] = true
		}
	}
	r.records, r.Ignores, r.Entries = records, sortedNames(ignores), store(records)
}

// Observed returns the daemon's document that was the input of the fold.
func (r Result) Observed() stconfig.Value { return r.observed }
