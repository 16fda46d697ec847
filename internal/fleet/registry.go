package fleet

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"
)

// Registry is everything a person registered, at one generation. It is immutable: readers share it.
type Registry struct {
	Generation int64 // grows with every accepted change of a template, of tags or of vars
	Mode       Mode  // of the whole fleet
	TagModes   map[Tag]Mode
	Roots      map[Tag][]string // folder roots of tags, and under "" those of the fleet; sorted
	Protected  map[Tag]bool     // only an admin puts these on a device or takes them off
	TagVars    map[Tag]SavedVars
	Devices    map[DeviceID]*Registered
	Templates  []TaggedTemplate // ascending priority, then ID: the order of the fold
	Restored   *Restored        // nil: nothing was restored, or a person resumed since
	Origins    map[int64]Origin // of templates that came from files, deleted ones too
	Sources    map[string]Source
}

// Restored says that the database was filled from a backup, and that no person had Muster write again since.
type Restored struct {
	BackupAt time.Time // the moment that the backup is of
	At       time.Time
}

// Registered is a device with what belongs to it.
type Registered struct {
	Device
	Tags     []Tag // sorted
	Settings DeviceSettings
	Vars     SavedVars
	Altered  bool // its row in the database is not as Muster wrote it: the device is not contacted
}

// AlteredReason is why an altered device is not contacted.
const AlteredReason = "its record in the database was not written by Muster: its address, port, API key, pin or " +
	"plain HTTP may be another program's, so it is not contacted"

// AlteredNext is what a person does about it.
func AlteredNext(id DeviceID) string {
	return "Find out what else writes to the database. Then type `muster device trust " + id.Short() +
		" --fingerprint HEX` with the fingerprint of the daemon's own certificate, or run `muster enroll` on its " +
		"machine with an administrator's token. `muster audit verify` names all such devices."
}

// TaggedTemplate is a template with its tags.
type TaggedTemplate struct {
	Template
	Tags []Tag // sorted
}

// DeviceSettings are the settings of one device beyond the contract.
type DeviceSettings struct {
	Mode       Mode
	AllowPlain bool   // plain HTTP although the address is not loopback
	Pin        string // "sha256:<hex>" of the GUI certificate, "" when none is pinned
	PinOrigin  PinOrigin
	Restart    bool // Muster may restart the daemon after a change that needs it
	Way        Way  // how the daemon is reached
}

// WithPin are the settings after an administrator gave another pin; a blank one forgets it.
func (s DeviceSettings) WithPin(pin string) DeviceSettings {
	switch {
	case pin != "":
		s.PinOrigin = PinGiven
	case s.Pin != "":
		s.PinOrigin = PinForgotten
	}
	s.Pin = pin
	return s
}

// AgentWord is what the agent of a device tells of its daemon.
type AgentWord struct {
	Pin     string // of the certificate in the daemon's home; "": it tells none
	Observe bool   // the agent lets nothing change the daemon
}

// WithWord are the settings after the agent of the device was heard. A daemon that may only be observed is reached by
// its agent alone, until an administrator chooses another way: the direct one would get round the agent.
func (s DeviceSettings) WithWord(word AgentWord) DeviceSettings {
	if word.Pin != "" && word.Pin != s.Pin {
		s = s.WithPin(word.Pin)
	}
	if word.Observe && s.Way == WayAuto {
		s.Way = WayAgent
	}
	return s
}

// Mode of one device: the strictest of the fleet's, its tags' and its own.
func (r *Registry) ModeOf(id DeviceID) Mode {
	device := r.Devices[id]
	if device == nil {
		return r.Mode
	}
	return Strictest(r.modeOfTags(device.Tags), device.Settings.Mode)
}

// ModeAt is the mode of a device that is still at an older registry: what its tags said there goes on to hold for what
// they bring there.
func (r *Registry) ModeAt(older *Registry, id DeviceID) Mode {
	mode := r.ModeOf(id)
	if was := older.Devices[id]; was != nil && older != r {
		mode = Strictest(mode, r.modeOfTags(was.Tags))
	}
	return mode
}

func (r *Registry) modeOfTags(tags []Tag) Mode {
	mode := r.Mode
	for _, tag := range tags {
		if m, ok := r.TagModes[tag]; ok {
			mode = Strictest(mode, m)
		}
	}
	return mode
}

// RootsOf are the folder roots of a device: those of the fleet and those of its tags, sorted.
func (r *Registry) RootsOf(id DeviceID) []string {
	roots := slices.Clone(r.Roots[""])
	if device := r.Devices[id]; device != nil {
		for _, tag := range device.Tags {
			roots = append(roots, r.Roots[tag]...)
		}
	}
	slices.Sort(roots)
	return slices.Compact(roots)
}

// Applying are the templates that share a tag with the device, in the order of the fold. They are not to be changed.
func (r *Registry) Applying(id DeviceID) iter.Seq[*TaggedTemplate] {
	return func(yield func(*TaggedTemplate) bool) {
		device := r.Devices[id]
		if device == nil {
			return
		}
		for i := range r.Templates {
			t := &r.Templates[i]
			shared := slices.ContainsFunc(t.Tags, func(tag Tag) bool { return slices.Contains(device.Tags, tag) })
			if shared && !yield(t) {
				return
			}
		}
	}
}

// TemplatesOf is Applying without tags, as a list. Vars decide what a template that reads them gives: an admin's counts
// as an author's where anybody below admin saved the vars.
func (r *Registry) TemplatesOf(id DeviceID) []Template {
	var apply []Template
	byAdmins := r.VarsByAdmins(id)
	for t := range r.Applying(id) {
		one := t.Template
		if !byAdmins && one.SavedRole == RoleAdmin && one.Reads.OrAll().ReadsVars() {
			one.SavedRole = RoleAuthor
		}
		apply = append(apply, one)
	}
	return apply
}

// TaggedTemplatesOf is Applying as a list.
func (r *Registry) TaggedTemplatesOf(id DeviceID) []TaggedTemplate {
	var apply []TaggedTemplate
	for t := range r.Applying(id) {
		apply = append(apply, *t)
	}
	return apply
}

// With is the registry with a device, which may be another one under its ID.
func (r *Registry) With(device *Registered) *Registry {
	next := *r
	next.Devices = maps.Clone(r.Devices)
	next.Devices[device.ID] = device
	return &next
}

// Without is the registry without a device.
func (r *Registry) Without(id DeviceID) *Registry {
	next := *r
	next.Devices = maps.Clone(r.Devices)
	delete(next.Devices, id)
	return &next
}

// CompareTemplates is the order of the fold: ascending priority, then ascending ID.
func CompareTemplates(a, b Template) int {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.ID, b.ID))
}

// CompareDevices is the order of the device list: by label, then ID.
func CompareDevices(a, b Device) int {
	return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.ID, b.ID))
}

// Committed says what a transaction changed. Values merge; it is published after the commit, never inside.
type Committed struct {
	Devices  map[DeviceID]bool // put, deleted, or their settings changed
	Registry bool              // a device, template, tag or mode changed: read the Registry again

	Generation bool // templates, tags or vars changed, in one or more new generations
	Modes      bool // of the fleet or of a tag
	Roots      bool // folder roots of the fleet or of a tag
	Secrets    bool

	Admitted  []DeviceID // are planned from another generation now
	Consented []DeviceID // an undo gave them a consent

	Decided map[DeviceID]bool // are not registered, and were rejected, or may ask again
}

// Empty tells whether nothing changed.
func (c Committed) Empty() bool {
	return !c.Registry && !c.Secrets && len(c.Devices)+len(c.Admitted)+len(c.Consented)+len(c.Decided) == 0
}

// Merge adds what another transaction changed.
func (c *Committed) Merge(other Committed) {
	c.Registry = c.Registry || other.Registry
	c.Generation = c.Generation || other.Generation
	c.Modes = c.Modes || other.Modes
	c.Roots = c.Roots || other.Roots
	c.Secrets = c.Secrets || other.Secrets
	c.Admitted = append(c.Admitted, other.Admitted...)
	c.Consented = append(c.Consented, other.Consented...)
	c.Devices = union(c.Devices, other.Devices)
	c.Decided = union(c.Decided, other.Decided)
}

// union adds the second set to the first, which may be nil.
func union(all, more map[DeviceID]bool) map[DeviceID]bool {
	if all == nil && len(more) > 0 {
		all = map[DeviceID]bool{}
	}
	maps.Copy(all, more)
	return all
}
