package fleet

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"
)

// Registry is everything that people registered, at one generation. It is immutable and shared by its readers.
type Registry struct {
	Generation int64 // grows with every accepted change of a template, of tags or of vars
	Mode       Mode  // mode of the whole fleet
	TagModes   map[Tag]Mode
	// how long the devices with a tag may be unreachable before that counts as trouble
	TagQuiet   map[Tag]time.Duration
	Roots      map[Tag][]string // folder roots by tag, sorted; under "" those of the fleet
	AuthorKeys map[Tag][]string // keys that authors may set, by tag, sorted; under "" those of the fleet
	Protected  map[Tag]bool     // tags that only an admin may put on a device or take off
	TagVars    map[Tag]SavedVars
	Devices    map[DeviceID]*Registered
	Templates  []TaggedTemplate // ordered as they are applied: ascending priority, then ID
	Restored   *Restored        // set after a restore until a person resumes writing; else nil
	Origins    map[int64]Origin // files that templates came from, also of deleted templates
	Sources    map[string]Source
	Rules      int64 // grows with every change of protected tags or of sources
	// Devices that are out for good. They are the present ones also for a device that is held at an older generation.
	Revocations map[DeviceID]Revocation
}

// Restored says that the database was restored from a backup and that nobody has resumed writing since.
type Restored struct {
	BackupAt time.Time // the moment of the backup's content
	At       time.Time
}

// Registered is a device with its tags, settings and mode.
type Registered struct {
	Device
	Tags     []Tag // sorted
	Settings DeviceSettings
	Vars     SavedVars
	Altered  bool // another program changed its row in the database, so the device is not contacted
	Doubted  bool // another program changed what else is stored about the device: it is observed, whatever its mode
}

// Mode is the mode of the device alone.
func (r *Registered) Mode() Mode {
	if r.Doubted {
		return Strictest(r.Settings.Mode, ModeObserve)
	}
	return r.Settings.Mode
}

// AlteredReason says why an altered device is not contacted.
const AlteredReason = "its record in the database was not written by Muster: its address, port, API key, pin or " +
	"plain HTTP may be another program's, so it is not contacted"

// AlteredNext says what a person can do about an altered device.
func AlteredNext(id DeviceID) string {
	return "Find out what else writes to the database. Then type `muster device trust " + id.Short() +
		" --fingerprint HEX` with the fingerprint of the daemon's own certificate, or run `muster enroll` on its " +
		"machine with an administrator's token. `muster audit verify` names all such devices."
}

// TaggedTemplate is a template with its tags.
type TaggedTemplate struct {
	Template
	Tags    []Tag // sorted
	Doubted bool  // another program changed its tags or its file: it counts as saved by an author also after a save
}

// Saved returns t with another content. While t is doubted, the role of the person who saved it does not count.
func (t TaggedTemplate) Saved(content Template) TaggedTemplate {
	if t.Template = content; t.Doubted {
		t.SavedRole = ""
	}
	return t
}

// AppliesTo reports whether the template shares a tag with a device.
func (t *TaggedTemplate) AppliesTo(device *Registered) bool {
	return slices.ContainsFunc(t.Tags, func(tag Tag) bool { return slices.Contains(device.Tags, tag) })
}

// DeviceSettings are the settings of one device that are not part of the contract.
type DeviceSettings struct {
	Mode       Mode
	AllowPlain bool   // allow plain HTTP to an address that is not loopback
	Pin        string // "sha256:<hex>" of the GUI certificate; "" when none is pinned
	PinOrigin  PinOrigin
	Restart    bool // Muster may restart the daemon when a change requires it
	Way        Way  // how Muster connects to the daemon
	// QuietAfter is how long the device may be unreachable before that counts as trouble; 0: as set for its tags, or
	// the default.
	QuietAfter time.Duration
}

// WithPin returns the settings with a pin that an administrator gave. A blank pin removes the stored one.
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

// AgentWord is what a device's agent reports about its daemon.
type AgentWord struct {
	Pin     string // fingerprint of the certificate in the daemon's home directory; "": none
	Observe bool   // the agent refuses requests that change the daemon
}

// WithWord returns the settings after the agent's report. When the agent runs with --observe, the device is reached
// only through it, until an administrator decides otherwise: a direct connection would bypass the agent.
func (s DeviceSettings) WithWord(word AgentWord) DeviceSettings {
	if word.Pin != "" && word.Pin != s.Pin {
		s = s.WithPin(word.Pin)
	}
	if word.Observe && s.Way == WayAuto {
		s.Way = WayAgent
	}
	return s
}

// RootsOf returns the folder roots of a device: the fleet's and those of its tags, sorted.
func (r *Registry) RootsOf(id DeviceID) []string { return r.ofDevice(r.Roots, id) }

// Template returns the template with that ID, or nil. The caller must not change it.
func (r *Registry) Template(id int64) *TaggedTemplate {
	if at := r.templateAt(id); at >= 0 {
		return &r.Templates[at]
	}
	return nil
}

// Applying returns the templates that share a tag with the device, in the order in which they are applied. The caller
// must not change them.
func (r *Registry) Applying(id DeviceID) iter.Seq[*TaggedTemplate] {
	return func(yield func(*TaggedTemplate) bool) {
		device := r.Devices[id]
		if device == nil {
			return
		}
		for i := range r.Templates {
			if t := &r.Templates[i]; t.AppliesTo(device) && !yield(t) {
				return
			}
		}
	}
}

// TemplatesOf returns what Applying does, as a list without tags. A template saved by an admin counts as an author's
// when it reads vars that were saved by somebody below admin, because those vars decide its value: those of the device,
// or of any device where it reads peers.
func (r *Registry) TemplatesOf(id DeviceID) []Template {
	var apply []Template
	byAdmins := r.VarsByAdmins(id)
	for t := range r.Applying(id) {
		one := t.Template
		reads := one.Reads.OrAll()
		if one.SavedRole == RoleAdmin && (!byAdmins && reads.ReadsVars() || reads.Peers && !r.AllVarsByAdmins()) {
			one.SavedRole = RoleAuthor
		}
		apply = append(apply, one)
	}
	return apply
}

// TaggedTemplatesOf returns what Applying does, as a list.
func (r *Registry) TaggedTemplatesOf(id DeviceID) []TaggedTemplate {
	var apply []TaggedTemplate
	for t := range r.Applying(id) {
		apply = append(apply, *t)
	}
	return apply
}

// Tags returns every tag of any device or template, sorted.
func (r *Registry) Tags() []Tag {
	all := map[Tag]bool{}
	for _, d := range r.Devices {
		addTags(all, d.Tags)
	}
	for _, t := range r.Templates {
		addTags(all, t.Tags)
	}
	return slices.Sorted(maps.Keys(all))
}

// With returns the registry with a device added or replaced.
func (r *Registry) With(device *Registered) *Registry {
	next := *r
	next.Devices = maps.Clone(r.Devices)
	next.Devices[device.ID] = device
	return &next
}

// Without returns the registry without a device.
func (r *Registry) Without(id DeviceID) *Registry {
	next := *r
	next.Devices = maps.Clone(r.Devices)
	delete(next.Devices, id)
	return &next
}

// CompareTemplates orders templates as they are applied: by ascending priority, then by ID.
func CompareTemplates(a, b Template) int {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.ID, b.ID))
}

// CompareDevices orders devices as lists show them: by label, then by ID.
func CompareDevices(a, b Device) int {
	return cmp.Or(cmp.Compare(a.Label, b.Label), cmp.Compare(a.ID, b.ID))
}

// Committed says what a transaction changed. It is published after the commit. Two values can be merged.
type Committed struct {
	Devices  map[DeviceID]bool // devices that were put or deleted, or whose settings changed
	Registry bool              // a device, template, tag or mode changed, so the Registry must be read again

	Generation bool // templates, tags or vars changed, which made one or more generations
	Modes      bool // the mode of the fleet or of a tag changed
	Roots      bool // the folder roots of the fleet or of a tag changed
	Secrets    bool
	Revoked    bool // devices were revoked, or a revocation ended
	Settings   bool // settings of the server changed

	Admitted  []DeviceID // devices that are planned from another generation now
	Consented []DeviceID // devices that got a consent by an undo

	Decided map[DeviceID]bool // devices that were rejected or revoked, or may ask again

	Revisions []Revision // revisions that were made, without their documents
}

// Empty reports whether nothing changed.
func (c Committed) Empty() bool {
	return !c.Registry && !c.Secrets && !c.Revoked && !c.Settings &&
		len(c.Devices)+len(c.Admitted)+len(c.Consented)+len(c.Decided)+len(c.Revisions) == 0
}

// Merge adds the changes of another transaction.
func (c *Committed) Merge(other Committed) {
	c.Registry = c.Registry || other.Registry
	c.Generation = c.Generation || other.Generation
	c.Modes = c.Modes || other.Modes
	c.Roots = c.Roots || other.Roots
	c.Secrets = c.Secrets || other.Secrets
	c.Revoked = c.Revoked || other.Revoked
	c.Settings = c.Settings || other.Settings
	c.Admitted = append(c.Admitted, other.Admitted...)
	c.Consented = append(c.Consented, other.Consented...)
	c.Devices = union(c.Devices, other.Devices)
	c.Decided = union(c.Decided, other.Decided)
	c.Revisions = append(c.Revisions, other.Revisions...)
}

// union adds the second set to the first, which may be nil, and returns it.
func union(all, more map[DeviceID]bool) map[DeviceID]bool {
	if all == nil && len(more) > 0 {
		all = map[DeviceID]bool{}
	}
	maps.Copy(all, more)
	return all
}

// Label returns the label of a registered device, or "".
func (r *Registry) Label(id DeviceID) string {
	if device := r.Devices[id]; device != nil {
		return device.Label
	}
	return ""
}
