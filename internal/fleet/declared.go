package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// Declared is what files say of a fleet. What is nil in it stays as it is.
type Declared struct {
	Source    string // of the templates; "": they get none
	ReadOnly  *bool  // templates of the source are changed by its files alone
	Tests     *[]Assertion
	Prune     bool // templates of the source that no file has are deleted
	Templates []DeclaredTemplate
	Devices   []DeclaredDevice
	Tags      []DeclaredTag
	Roots     []string
}

// DeclaredTemplate is a template as its file has it.
type DeclaredTemplate struct {
	Name     string // of the file, without its ending
	Template        // without ID
	Tags     []Tag  // nil: the file names none, and the tags stay
}

// DeclaredDevice is what files say of a registered device.
type DeclaredDevice struct {
	ID         DeviceID
	Label      *string
	Tags       []Tag
	Mode       *Mode
	AllowPlain *bool
	Restart    *bool
	Way        *Way
	Vars       *Vars
}

// DeclaredTag is what files say of the devices with a tag.
type DeclaredTag struct {
	Tag       Tag
	Mode      *Mode
	Roots     []string
	Protected *bool
	Vars      *Vars
}

// Origin says which file a template came from.
type Origin struct {
	Source string // "": files without a source
	Name   string // of the file, without its ending
}

// Source is where files come from: a repository, as a rule.
type Source struct {
	ReadOnly bool        // its templates are changed by its files alone
	Tests    []Assertion // that changes by files of the source have to keep true
}

// TemplateNames are the names that templates have as files, by ID. A template that came from a file keeps its name.
// Another one is named after its label, and by its ID too where two would have the same name.
func (r *Registry) TemplateNames() map[int64]string {
	names, count := map[int64]string{}, map[string]int{}
	for _, t := range r.Templates {
		name := r.Origins[t.ID].Name
		if name == "" {
			name = FileName(t.Label)
		}
		names[t.ID] = name
		count[strings.ToLower(name)]++
	}
	for _, t := range r.Templates {
		name := names[t.ID]
		if r.Origins[t.ID].Name == "" && (name == "" || count[strings.ToLower(name)] > 1) {
			names[t.ID] = strings.TrimPrefix(fmt.Sprintf("%s-%d", cmp.Or(name, "template"), t.ID), "-")
		}
	}
	return names
}

const maxFileName = 100 // characters

// FileName is a label as the name of a file that every system takes.
func FileName(label string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, label)
	if runes := []rune(name); len(runes) > maxFileName {
		name = string(runes[:maxFileName])
	}
	return strings.Trim(name, "-.")
}

// Adjustment is what brings a fleet to what files say. Everything in it was compared with one registry.
type Adjustment struct {
	Edit
	Source   string
	NewNames []string         // of the files of Edit.New, in their order
	Origins  map[int64]Origin // of templates that get another one
	Labels   []LabelChange
	Settings []SettingsChange
	Modes    []ModeChange
	Roots    []RootsChange
	Protect  []ProtectChange
	Kept     *SourceChange // nil: what is kept of the source stays
}

// LabelChange is another label of a device.
type LabelChange struct {
	Device   DeviceID
	From, To string
}

// SettingsChange is other settings of a device.
type SettingsChange struct {
	Device   DeviceID
	From, To DeviceSettings
}

// ModeChange is another mode of the devices with a tag.
type ModeChange struct {
	Tag      Tag
	From, To Mode
}

// RootsChange is other folder roots of a tag, or of the fleet where the tag is "".
type RootsChange struct {
	Tag      Tag
	From, To []string
}

// ProtectChange says whether only an admin puts a tag on devices.
type ProtectChange struct {
	Tag Tag
	To  bool
}

// SourceChange is what is kept of a source.
type SourceChange struct {
	From, To Source
	New      bool
}

// Adopts tells whether templates become those of another source. That the name of a file is noted is no such change.
func (a Adjustment) Adopts() bool {
	for _, origin := range a.Origins {
		if origin.Source != "" {
			return true
		}
	}
	return false
}

// Nothing tells whether the fleet is as files say.
func (a Adjustment) Nothing() bool {
	return a.Edit.Cause() == "" && !a.Adopts() && len(a.Labels)+len(a.Settings)+len(a.Modes)+len(a.Roots)+
		len(a.Protect) == 0 && a.Kept == nil
}

// Adjustment compares the registry with what files say. Errors name what is not there, or belongs to another source.
func (r *Registry) Adjustment(d Declared) (Adjustment, error) {
	a := Adjustment{Source: d.Source, Origins: map[int64]Origin{}}
	if d.Prune && d.Source == "" {
		return a, &Error{Code: CodeInvalid, Message: "only templates of a source can be pruned, and there is no source",
			Hint: "Write `source: NAME` into fleet.hjson, or give --source NAME."}
	}
	for _, compare := range []func(*Registry, Declared) error{
		a.templates, a.devices, a.tags, a.source,
	} {
		if err := compare(r, d); err != nil {
			return a, err
		}
	}
	return a, nil
}

func (a *Adjustment) templates(r *Registry, d Declared) error {
	at := map[string]int{}
	for id, name := range r.TemplateNames() {
		at[strings.ToLower(name)] = r.templateAt(id)
	}
	declared := map[int64]bool{}
	for _, t := range d.Templates {
		place, there := at[strings.ToLower(t.Name)]
		if !there {
			tags := slices.Sorted(slices.Values(t.Tags))
			a.Edit.New = append(a.Edit.New, TaggedTemplate{t.Template, slices.Compact(tags)})
			a.NewNames = append(a.NewNames, t.Name)
			continue
		}
		current := r.Templates[place]
		declared[current.ID] = true
		if err := a.template(r, d.Source, current, t); err != nil {
			return err
		}
	}
	for _, t := range r.Templates {
		if d.Prune && !declared[t.ID] && r.Origins[t.ID].Source == d.Source {
			a.Edit.Deleted = append(a.Edit.Deleted, t.ID)
		}
	}
	return nil
}

func (a *Adjustment) template(r *Registry, source string, current TaggedTemplate, t DeclaredTemplate) error {
	origin, known := r.Origins[current.ID]
	if source != "" && origin.Source != "" && origin.Source != source {
		return &Error{Code: CodeConflict,
			Message: fmt.Sprintf("the template %q belongs to the source %q", t.Name, origin.Source),
			Hint:    fmt.Sprintf("Give the file another name, or give up the other source with `muster source forget %s`.", origin.Source)}
	}
	if is := (Origin{cmp.Or(source, origin.Source), t.Name}); !known || is != origin {
		a.Origins[current.ID] = is
	}
	changed := t.Template
	changed.ID = current.ID
	if changed.Label != current.Label || changed.Priority != current.Priority || !changed.SaysTheSame(current.Template) {
		changed.CreatedAt, changed.UpdatedAt = current.CreatedAt, current.UpdatedAt
		a.Edit.Changed = append(a.Edit.Changed, changed)
	}
	if t.Tags != nil {
		a.retag(Tagging{Template: current.ID}, current.Tags, t.Tags)
	}
	return nil
}

// retag makes the tags of one thing a given set.
func (a *Adjustment) retag(of Tagging, are, wanted []Tag) {
	for _, tag := range wanted {
		if of.Tag = tag; !slices.Contains(are, tag) && !slices.Contains(a.Edit.Tag, of) {
			a.Edit.Tag = append(a.Edit.Tag, of)
		}
	}
	for _, tag := range are {
		if of.Tag = tag; !slices.Contains(wanted, tag) {
			a.Edit.Untag = append(a.Edit.Untag, of)
		}
	}
}

func (a *Adjustment) devices(r *Registry, d Declared) error {
	for _, device := range d.Devices {
		is := r.Devices[device.ID]
		if is == nil {
			return notRegistered(device.ID)
		}
		if device.Label != nil && *device.Label != is.Label {
			if err := ValidateLabel(*device.Label); err != nil {
				return err
			}
			a.Labels = append(a.Labels, LabelChange{device.ID, is.Label, *device.Label})
		}
		if device.Tags != nil {
			a.retag(Tagging{Device: device.ID}, is.Tags, device.Tags)
		}
		a.vars(VarsOwner{Device: device.ID}, is.Vars, device.Vars)
		if to := device.settings(is.Settings); to != is.Settings {
			a.Settings = append(a.Settings, SettingsChange{device.ID, is.Settings, to})
		}
	}
	return nil
}

// vars makes the vars of a device or tag what files say.
func (a *Adjustment) vars(of VarsOwner, is SavedVars, wanted *Vars) {
	if wanted != nil && *wanted != is.Vars {
		a.Edit.Vars = append(a.Edit.Vars, VarsChange{of, SavedVars{Vars: *wanted}})
	}
}

func notRegistered(id DeviceID) error {
	return &Error{Code: CodeInvalid, Message: fmt.Sprintf("no device %s is registered", id),
		Details: []Detail{{Field: "devices." + string(id), Message: "no such device is registered"}},
		Hint: "API keys are in no file: register the device with `muster enroll` or `muster agent run` on its machine, " +
			"or take it out of fleet.hjson."}
}

func (d DeclaredDevice) settings(s DeviceSettings) DeviceSettings {
	given(&s.Mode, d.Mode)
	given(&s.AllowPlain, d.AllowPlain)
	given(&s.Restart, d.Restart)
	given(&s.Way, d.Way)
	return s
}

// given replaces a value where there is another.
func given[T any](value, by *T) {
	if by != nil {
		*value = *by
	}
}

func (a *Adjustment) tags(r *Registry, d Declared) error {
	if d.Roots != nil && !slices.Equal(d.Roots, r.Roots[""]) {
		a.Roots = append(a.Roots, RootsChange{"", r.Roots[""], d.Roots})
	}
	for _, tag := range d.Tags {
		if is := cmp.Or(r.TagModes[tag.Tag], ModeOn); tag.Mode != nil && *tag.Mode != is {
			a.Modes = append(a.Modes, ModeChange{tag.Tag, is, *tag.Mode})
		}
		if tag.Roots != nil && !slices.Equal(tag.Roots, r.Roots[tag.Tag]) {
			a.Roots = append(a.Roots, RootsChange{tag.Tag, r.Roots[tag.Tag], tag.Roots})
		}
		a.vars(VarsOwner{Tag: tag.Tag}, r.TagVars[tag.Tag], tag.Vars)
		if tag.Protected != nil && *tag.Protected != r.Protected[tag.Tag] {
			a.Protect = append(a.Protect, ProtectChange{tag.Tag, *tag.Protected})
		}
	}
	return nil
}

func (a *Adjustment) source(r *Registry, d Declared) error {
	if d.Source == "" {
		if d.ReadOnly != nil && *d.ReadOnly || d.Tests != nil {
			return &Error{Code: CodeInvalid, Message: "read-only files and kept tests belong to a source, and there is none",
				Hint: "Write `source: NAME` into fleet.hjson, or give --source NAME."}
		}
		return nil
	}
	from, known := r.Sources[d.Source]
	to := from
	given(&to.ReadOnly, d.ReadOnly)
	given(&to.Tests, d.Tests)
	if !known || to.ReadOnly != from.ReadOnly || !slices.EqualFunc(to.Tests, from.Tests, Assertion.Equal) {
		a.Kept = &SourceChange{from, to, !known}
	}
	return nil
}

// Adjusted is the registry as the adjustment would leave it, and the IDs that stand for new templates in it.
func (r *Registry) Adjusted(a Adjustment) (*Registry, []int64, error) {
	then, ids, err := r.Edited(a.Edit)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range a.Labels {
		device := *then.Devices[c.Device]
		device.Label = c.To
		then.Devices[c.Device] = &device
	}
	for _, c := range a.Settings {
		device := *then.Devices[c.Device]
		device.Settings = c.To
		then.Devices[c.Device] = &device
	}
	then.Roots = maps.Clone(r.Roots)
	for _, c := range a.Roots {
		then.Roots[c.Tag] = c.To
	}
	if a.Kept != nil {
		then.Sources = maps.Clone(r.Sources)
		if then.Sources == nil {
			then.Sources = map[string]Source{}
		}
		then.Sources[a.Source] = a.Kept.To
	}
	return then, ids, nil
}
