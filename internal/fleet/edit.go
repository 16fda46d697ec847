package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Edit is one change to what people decide about the fleet. It is made as a whole, in at most one generation, or not
// at all. It can also be planned without being made. An empty field changes nothing.
//
// Some writes are not edits when a person makes them by themselves: modes, which take effect at once even when the
// database cannot be written; the settings and the pin of a device; quiet times, folder roots, author keys and the
// protection of a tag; secrets, users and tokens. They make no generation and no step of package change judges them:
// the handler checks the permission, and the store writes (ADR 40). Settings, Modes, Roots and Protect are fields
// below because a directory of files is applied as a whole.
type Edit struct {
	New     []TaggedTemplate // new templates, whose IDs are 0
	Changed []Template       // each replaces the template with its ID
	Deleted []int64
	Tag     []Tagging
	Untag   []Tagging
	Drop    []Tag // removed from every device and template
	Vars    []VarsChange

	Put    []DevicePut
	Remove []DeviceID
	Enroll *Enrollment // nil: no device is enrolled

	Revoke  []Revocation // By is set by SavedBy, and At by the store
	Readmit []DeviceID   // devices with a revocation that ends

	Labels   []LabelChange
	Settings []SettingsChange
	Modes    []ModeChange
	Roots    []RootsChange
	Protect  []ProtectChange

	Files  FilesChange
	Forget string // source to delete; its templates stay; "": none

	Undo *Undo // nil: nothing is undone

	Message string // text that the person wrote about the edit, checked by CheckMessage; "": nothing
	Title   string // text that the history shows; set by Titled
}

// DevicePut registers a device, or replaces its record.
type DevicePut struct {
	Device Device // a blank API key leaves the stored one
	Pin    string // "": the stored pin stays
}

// Tagging is a tag on a device, or on a template when Device is "".
type Tagging struct {
	Tag      Tag
	Device   DeviceID
	Template int64
}

// Undo reverts what the generations of a rollout changed.
type Undo struct {
	Rollout Rollout
	Write   RolloutWrite // the resulting changes of rollouts; Settled is the registry for which they were computed
}

// UndoApproval is what a person saw of an undo before giving it.
type UndoApproval struct {
	Generation *int64                 // generation of the plan that the person saw; nil: any
	Shown      []ShownChange          // held changes of that plan, to which the person consents
	Keys       map[ShownChange]string // keys of Shown, for the audit
}

// Basis is the state that an edit was made for.
type Basis struct {
	Generation *int64 // generation that must be current; nil: any
	Rules      *int64 // Registry.Rules that must be current; nil: any
	// Check is called in the transaction with the one thing that the edit changes. When it returns an error the edit
	// is not made. It may be nil.
	Check func(Found) error
	// RefuseFailing refuses an edit with which no plan can be made for a device that has one now.
	RefuseFailing bool
	Trial         bool // true: the store writes nothing, and Applied.Then is the registry that would result
}

// Found is the one thing that an edit changes, as stored before the edit. The other fields are empty.
type Found struct {
	Device   *Device   // nil: not registered
	Template *Template // nil: does not exist
	Tags     []Tag     // tags of the device or template; when the edit deletes a tag: all existing tags
	Vars     Vars
}

// Found returns the one thing that an edit changes, as it is in the registry. known is false when the registry cannot
// tell.
func (r *Registry) Found(e Edit) (found Found, known bool) {
	for _, put := range e.Put {
		e.Remove = append(e.Remove, put.Device.ID)
		known = true // That no such device exists is known too.
	}
	for _, id := range e.Remove {
		if device := r.Devices[id]; device != nil {
			found.Device, known = &device.Device, true
		}
	}
	for _, changed := range e.Changed {
		e.Deleted = append(e.Deleted, changed.ID)
	}
	for _, id := range e.Deleted {
		if t := r.Template(id); t != nil {
			found.Template, known = &t.Template, true
		}
	}
	for _, tagging := range slices.Concat(e.Tag, e.Untag) {
		if device := r.Devices[tagging.Device]; device != nil {
			found.Tags, known = device.Tags, true
		} else if t := r.Template(tagging.Template); t != nil {
			found.Tags, known = t.Tags, true
		}
	}
	for _, tag := range e.Drop {
		found.Tags = r.Tags()
		known = slices.Contains(found.Tags, tag)
	}
	for _, change := range e.Vars {
		found.Vars, known = r.VarsOwnedBy(change.VarsOwner).Vars, change.Device == "" || r.Devices[change.Device] != nil
	}
	return found, known
}

// Applied is the result of an edit.
type Applied struct {
	Generation int64      // the current generation after the edit; unchanged when the edit changed nothing
	New        []Template // new templates with their IDs, in the order of the edit
	Changed    []Template // changed templates, in the order of the edit
	Device     Device     // the last device that was put or enrolled
	Created    bool       // Device was not registered before
	// of the last device or template that was tagged or untagged; when a tag was deleted: the remaining tags
	Tags     []Tag
	Rollouts []int64   // rollouts that an undo started
	Then     *Registry // set by a trial
}

// ErrAnotherGeneration is the cause of an error when the generation for which an edit was judged is no longer current.
var ErrAnotherGeneration = errors.New("another generation is in force")

// Overtaken returns the error for an edit that names another generation than the current one.
func Overtaken(inForce int64) error {
	return &Error{Code: CodePrecondition, Err: ErrAnotherGeneration, Hint: "Plan again, and apply that plan.",
		Message: fmt.Sprintf("templates, tags, vars or revocations were changed since the plan was made: "+
			"it is generation %d now", inForce)}
}

// ChangedMeanwhile returns the error for an edit without a generation, when other changes were made at the same time.
func ChangedMeanwhile(cause error) error {
	return &Error{Code: CodePrecondition, Err: cause,
		Message: "templates, tags, vars or revocations were changed at the same moment", Hint: "Ask again."}
}

// Empty reports whether the edit changes nothing. Recording names of files does not count.
func (e Edit) Empty() bool {
	return e.size()+len(e.Put)+len(e.Labels)+len(e.Settings)+len(e.Modes)+len(e.Roots)+len(e.Protect) == 0 &&
		e.Enroll == nil && !e.Files.Adopts() && e.Files.Kept == nil && e.Forget == "" && e.Undo == nil
}

// OnlyRevokes reports whether the edit revokes devices and does nothing else.
func (e Edit) OnlyRevokes() bool {
	revokes := len(e.Revoke) > 0
	e.Revoke = nil
	return revokes && e.Empty() && len(e.Files.Tests) == 0
}

// size returns how many of the changes in the edit make a generation.
func (e Edit) size() int {
	return len(e.New) + len(e.Changed) + len(e.Deleted) + len(e.Tag) + len(e.Untag) + len(e.Drop) + len(e.Vars) +
		len(e.Remove) + len(e.Revoke) + len(e.Readmit)
}

// Check refuses an edit that changes one thing twice, because the result would depend on the order.
func (e Edit) Check() error {
	ids := map[int64]bool{}
	for _, changed := range e.Changed {
		if ids[changed.ID] {
			return Invalidf("templates", "template %d is named twice", changed.ID)
		}
		ids[changed.ID] = true
	}
	for _, id := range e.Deleted {
		if ids[id] {
			return Invalidf("templates", "template %d is named twice", id)
		}
		ids[id] = true
	}
	tags := map[Tagging]bool{}
	for _, tagging := range slices.Concat(e.Tag, e.Untag) {
		if tags[tagging] {
			return Invalidf("tags", "the tag %q is named twice for the same device or template", tagging.Tag)
		}
		tags[tagging] = true
	}
	owners := map[VarsOwner]bool{}
	for _, c := range e.Vars {
		if owners[c.VarsOwner] {
			return Invalidf("vars", "the vars of %v are named twice", c.VarsOwner)
		}
		owners[c.VarsOwner] = true
	}
	revoked := map[DeviceID]bool{}
	for _, one := range e.Revoke {
		if err := one.Validate(); err != nil {
			return err
		}
		revoked[one.Device] = true
	}
	for _, id := range e.Readmit {
		if revoked[id] {
			return Invalidf("revocations", "device %s is revoked and let go by the same change", id)
		}
	}
	return nil
}

// Digest names the edit and the generation of the registry for which it was made.
func (e Edit) Digest(generation int64) (string, error) {
	text, err := json.Marshal(struct {
		Generation int64
		Edit
	}{generation, e})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// SavedBy returns a copy of the edit in which one person or token has saved the templates and vars, and revokes.
func (e Edit) SavedBy(name string, role Role) Edit {
	e.New, e.Changed, e.Vars = slices.Clone(e.New), slices.Clone(e.Changed), slices.Clone(e.Vars)
	for i := range e.Vars {
		e.Vars[i].SavedBy, e.Vars[i].SavedRole = name, role
	}
	e.Revoke = slices.Clone(e.Revoke)
	for i := range e.Revoke {
		e.Revoke[i].By = name
	}
	for i := range e.New {
		e.New[i].SavedBy, e.New[i].SavedRole = name, role
	}
	for i := range e.Changed {
		e.Changed[i].SavedBy, e.Changed[i].SavedRole = name, role
	}
	return e
}

// Edited returns the registry as it would be after the edit, and the IDs that the new templates have in it, in order.
// As in the store, new IDs are larger than all others. The error has the code not_found for things that do not exist.
// Edited does not apply an undo, because its registry is already in Undo.Write.
func (r *Registry) Edited(edit Edit) (*Registry, []int64, error) {
	if edit.Undo != nil {
		return edit.Undo.Write.Settled, nil, nil
	}
	edited := *r
	edited.Templates, edited.Devices = slices.Clone(r.Templates), maps.Clone(r.Devices)
	for _, change := range []func(Edit) error{
		edited.putDevices, edited.changeTemplates, edited.changeTags, edited.dropTags, edited.changeVars,
		edited.changeSettings, edited.changeSources, edited.removeDevices, edited.changeRevocations,
	} {
		if err := change(edit); err != nil {
			return nil, nil, err
		}
	}
	var last int64
	for _, t := range r.Templates {
		last = max(last, t.ID)
	}
	var ids []int64
	for _, t := range edit.New {
		last++
		t.ID = last
		ids = append(ids, last)
		edited.Templates = append(edited.Templates, t)
	}
	slices.SortFunc(edited.Templates, func(a, b TaggedTemplate) int { return CompareTemplates(a.Template, b.Template) })
	return &edited, ids, nil
}

// putDevices adds or replaces devices. A new device has only the tags of its enrolment.
func (r *Registry) putDevices(edit Edit) error {
	for _, put := range edit.Put {
		next := Registered{Tags: []Tag{}}
		if is := r.Devices[put.Device.ID]; is != nil {
			next = *is
		}
		next.Device = put.Device
		r.Devices[put.Device.ID] = &next
	}
	if e := edit.Enroll; e != nil {
		r.Devices[e.Device.ID] = &Registered{Device: e.Device, Tags: slices.Compact(slices.Sorted(slices.Values(e.Tags)))}
	}
	return nil
}

func (r *Registry) removeDevices(edit Edit) error {
	for _, id := range edit.Remove {
		if r.Devices[id] == nil {
			return noSuchDevice(id)
		}
		delete(r.Devices, id)
	}
	return nil
}

func (r *Registry) changeTags(edit Edit) error {
	for i, tagging := range slices.Concat(edit.Tag, edit.Untag) {
		if err := r.change(tagging, i < len(edit.Tag)); err != nil {
			return err
		}
	}
	return nil
}

// dropTags removes tags from all devices and templates.
func (r *Registry) dropTags(edit Edit) error {
	for _, tag := range edit.Drop {
		carried := false
		for id, device := range r.Devices {
			if slices.Contains(device.Tags, tag) {
				changed := *device
				changed.Tags, carried = tagsWith(device.Tags, tag, false), true
				r.Devices[id] = &changed
			}
		}
		for i, template := range r.Templates {
			if slices.Contains(template.Tags, tag) {
				r.Templates[i].Tags, carried = tagsWith(template.Tags, tag, false), true
			}
		}
		if !carried {
			return NotFoundf("nothing carries the tag %q", tag)
		}
	}
	return nil
}

// changeSettings changes labels and settings of devices, and folder roots.
func (r *Registry) changeSettings(edit Edit) error {
	change := func(id DeviceID, change func(*Registered)) error {
		device := r.Devices[id]
		if device == nil {
			return noSuchDevice(id)
		}
		changed := *device
		change(&changed)
		r.Devices[id] = &changed
		return nil
	}
	for _, c := range edit.Labels {
		if err := change(c.Device, func(d *Registered) { d.Label = c.To }); err != nil {
			return err
		}
	}
	for _, c := range edit.Settings {
		if err := change(c.Device, func(d *Registered) { d.Settings = c.To }); err != nil {
			return err
		}
	}
	if len(edit.Roots) == 0 {
		return nil
	}
	roots := map[Tag][]string{}
	maps.Copy(roots, r.Roots)
	for _, c := range edit.Roots {
		roots[c.Tag] = c.To
	}
	r.Roots = roots
	return nil
}

func (r *Registry) changeSources(edit Edit) error {
	if edit.Files.Kept == nil && edit.Forget == "" {
		return nil
	}
	sources := map[string]Source{}
	maps.Copy(sources, r.Sources)
	if edit.Files.Kept != nil {
		sources[edit.Files.Source] = edit.Files.Kept.To
	}
	delete(sources, edit.Forget)
	r.Sources = sources
	return nil
}

func (r *Registry) changeTemplates(edit Edit) error {
	for _, changed := range edit.Changed {
		at := r.templateAt(changed.ID)
		if at < 0 {
			return noSuchTemplate(changed.ID)
		}
		r.Templates[at] = r.Templates[at].Saved(changed.SavedOver(r.Templates[at].Template))
	}
	for _, id := range edit.Deleted {
		at := r.templateAt(id)
		if at < 0 {
			return noSuchTemplate(id)
		}
		r.Templates = slices.Delete(r.Templates, at, at+1)
	}
	return nil
}

// change adds or removes one tag. It copies what is shared with the registry before the edit.
func (r *Registry) change(tagging Tagging, attach bool) error {
	if tagging.Device == "" {
		at := r.templateAt(tagging.Template)
		if at < 0 {
			return noSuchTemplate(tagging.Template)
		}
		r.Templates[at].Tags = tagsWith(r.Templates[at].Tags, tagging.Tag, attach)
		return nil
	}
	device := r.Devices[tagging.Device]
	if device == nil {
		return noSuchDevice(tagging.Device)
	}
	changed := *device
	changed.Tags = tagsWith(device.Tags, tagging.Tag, attach)
	r.Devices[tagging.Device] = &changed
	return nil
}

// changeVars replaces vars. When the values do not change, it keeps the record of who saved them.
func (r *Registry) changeVars(edit Edit) error {
	r.TagVars = maps.Clone(r.TagVars)
	if r.TagVars == nil {
		r.TagVars = map[Tag]SavedVars{}
	}
	for _, c := range edit.Vars {
		was := r.VarsOwnedBy(c.VarsOwner)
		if was.Vars == c.Vars {
			continue
		}
		c.SavedVars = c.SavedOver(was)
		if c.Device == "" {
			r.TagVars[c.Tag] = c.SavedVars
			continue
		}
		device := r.Devices[c.Device]
		if device == nil {
			return noSuchDevice(c.Device)
		}
		changed := *device
		changed.Vars = c.SavedVars
		r.Devices[c.Device] = &changed
	}
	return nil
}

func noSuchDevice(id DeviceID) error {
	return &Error{Code: CodeNotFound, Message: fmt.Sprintf("no device %s is registered", id),
		Hint: "Name devices by their ID."}
}

// tagsWith returns a new, sorted set of tags with or without one tag.
func tagsWith(tags []Tag, tag Tag, attach bool) []Tag {
	others := slices.DeleteFunc(slices.Clone(tags), func(t Tag) bool { return t == tag })
	if attach {
		others = append(others, tag)
		slices.Sort(others)
	}
	return others
}

func (r *Registry) templateAt(id int64) int {
	return slices.IndexFunc(r.Templates, func(t TaggedTemplate) bool { return t.ID == id })
}

func noSuchTemplate(id int64) error {
	return &Error{Code: CodeNotFound, Message: fmt.Sprintf("there is no template %d", id),
		Hint: "Name templates by their id; one that is new, or deleted by the same edit, has none."}
}
