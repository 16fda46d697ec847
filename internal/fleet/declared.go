package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// Declared is what the files of a source say about a fleet. A nil field changes nothing.
type Declared struct {
	Source    string // source that the templates belong to; "": no source
	ReadOnly  *bool  // true: nothing but the files of the source may change its templates
	Tests     *[]Assertion
	Prune     bool // delete the leftovers of the source
	Templates []DeclaredTemplate
	Devices   []DeclaredDevice
	Tags      []DeclaredTag
	Roots     []string
}

// DeclaredTemplate is a template as its file describes it.
type DeclaredTemplate struct {
	Name     string // name of the file, without its extension
	Template        // its ID is 0
	Tags     []Tag  // nil: the file names no tags, and the template keeps its tags
}

// DeclaredDevice is what files say about a registered device.
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

// DeclaredTag is what files say about the devices with a tag.
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
	Name   string // name of the file, without its extension
}

// Source is a set of files that describe a part of the fleet, usually a repository.
type Source struct {
	ReadOnly bool        // true: nothing but its files may change its templates
	Tests    []Assertion // assertions that every change must keep true
}

// TemplateNames returns names of files for the templates, by ID. A template that came from a file keeps the name of
// that file. Any other is named after its label, followed by its ID when two names would be equal.
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

// FileName turns a label into a name that is valid for a file on every system.
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

// FilesChange is the part of an edit that concerns the source of its files.
type FilesChange struct {
	Source   string           // "": no source
	NewNames []string         // names of the files of Edit.New, in the same order
	Origins  map[int64]Origin // templates that get another origin
	Kept     *SourceChange    // nil: the settings of the source do not change
	Tests    []Assertion      // assertions that must be true on every device after the edit
}

// LabelChange gives a device another label.
type LabelChange struct {
	Device   DeviceID
	From, To string
}

// SettingsChange gives a device other settings.
type SettingsChange struct {
	Device   DeviceID
	From, To DeviceSettings
}

// ModeChange gives the devices with a tag another mode.
type ModeChange struct {
	Tag      Tag
	From, To Mode
}

// RootsChange replaces the folder roots of a tag, or of the fleet when the tag is "".
type RootsChange struct {
	Tag      Tag
	From, To []string
}

// ProtectChange says whether only an admin may put a tag on devices.
type ProtectChange struct {
	Tag Tag
	To  bool
}

// SourceChange replaces the settings of a source.
type SourceChange struct {
	From, To Source
	New      bool
}

// Adopts reports whether templates move to another source. Recording the name of a template's file does not count.
func (f FilesChange) Adopts() bool {
	for _, origin := range f.Origins {
		if origin.Source != "" {
			return true
		}
	}
	return false
}

// Adjustment is what has to be done so that a registry agrees with files.
type Adjustment struct {
	Edit          Edit
	Leftovers     []int64 // templates of the source without a file; they are deleted only by Declared.Prune
	WithoutSource []int64 // templates that have neither a source nor a file
	PrunesMany    bool    // the edit deletes more than a tenth of the source's templates, as a partial checkout would
}

// CheckPruning refuses to delete many templates of the source unless the caller says that this is meant.
func (a Adjustment) CheckPruning(many bool) error {
	if !a.PrunesMany || many {
		return nil
	}
	return &Error{Code: CodeConflict,
		Message: fmt.Sprintf("%s templates have no file any more, more than a tenth of those of the source %q",
			NumberText(len(a.Edit.Deleted)), a.Edit.Files.Source),
		Hint: "Look whether the directory is complete. To delete them, type `muster apply -f DIR --prune --prune-many`."}
}

// Adjustment compares the registry with what files say. It returns an error for a device or template that does not
// exist or belongs to another source.
func (r *Registry) Adjustment(d Declared) (Adjustment, error) {
	a := adjustment{Edit: Edit{Files: FilesChange{Source: d.Source, Origins: map[int64]Origin{}}}}
	if d.Prune && d.Source == "" {
		return Adjustment{}, &Error{
			Code: CodeInvalid, Message: "only templates of a source can be pruned, and there is no source",
			Hint: "Write `source: NAME` into fleet.hjson, or give --source NAME.",
		}
	}
	for _, compare := range []func(*Registry, Declared) error{
		a.templates, a.devices, a.tags, a.source,
	} {
		if err := compare(r, d); err != nil {
			return Adjustment{}, err
		}
	}
	return Adjustment{a.Edit, a.leftovers, a.withoutSource, a.prunesMany}, nil
}

// adjustment builds an edit by comparing files with one registry.
type adjustment struct {
	Edit
	leftovers, withoutSource []int64
	prunesMany               bool
}

func (a *adjustment) templates(r *Registry, d Declared) error {
	at := r.filesOf(d)
	for _, t := range d.Templates {
		place, there := at[strings.ToLower(t.Name)]
		if !there {
			tags := slices.Sorted(slices.Values(t.Tags))
			a.New = append(a.New, TaggedTemplate{Template: t.Template, Tags: slices.Compact(tags)})
			a.Files.NewNames = append(a.Files.NewNames, t.Name)
			continue
		}
		if err := a.template(r, d.Source, r.Templates[place], t); err != nil {
			return err
		}
	}
	a.unfiled(r, d, at)
	return nil
}

// filesOf returns the place of each template in Registry.Templates by the name of its file, in lower case. A template
// whose file was renamed is found by its content, also where the new name is the label of a template without a file.
func (r *Registry) filesOf(d Declared) map[string]int {
	at, names := map[string]int{}, map[string]bool{}
	for id, name := range r.TemplateNames() {
		at[strings.ToLower(name)] = r.templateAt(id)
	}
	var unknown []DeclaredTemplate
	for _, t := range d.Templates {
		name := strings.ToLower(t.Name)
		names[name] = true
		if place, known := at[name]; !known || r.Origins[r.Templates[place].ID].Name == "" {
			unknown = append(unknown, t)
		}
	}
	var gone []int
	for name, place := range at {
		origin := r.Origins[r.Templates[place].ID]
		if !names[name] && origin.Name != "" && origin.Source == d.Source {
			gone = append(gone, place)
		}
	}
	maps.Copy(at, r.renamed(unknown, gone))
	return at
}

// renamed finds the templates of files that have another name now. Of several with the same content it finds none.
func (r *Registry) renamed(unknown []DeclaredTemplate, gone []int) map[string]int {
	files := map[int][]string{}
	for _, t := range unknown {
		other := func(place int) bool { return !t.hasContentOf(r.Templates[place]) }
		if same := slices.DeleteFunc(slices.Clone(gone), other); len(same) == 1 {
			files[same[0]] = append(files[same[0]], strings.ToLower(t.Name))
		}
	}
	at := map[string]int{}
	for place, names := range files {
		if len(names) == 1 {
			at[names[0]] = place
		}
	}
	return at
}

// hasContentOf reports whether a file describes a template under another name. The label is not compared: a file
// without one is labelled by its name.
func (t DeclaredTemplate) hasContentOf(is TaggedTemplate) bool {
	tags := slices.Compact(slices.Sorted(slices.Values(t.Tags)))
	return t.SaysTheSame(is.Template) && t.Priority == is.Priority &&
		(t.Tags == nil || slices.Equal(tags, slices.Sorted(slices.Values(is.Tags))))
}

// unfiled finds the templates without a file, and deletes those of the source if the files are to be pruned.
func (a *adjustment) unfiled(r *Registry, d Declared, at map[string]int) {
	filed := map[int64]bool{}
	for _, t := range d.Templates {
		if place, there := at[strings.ToLower(t.Name)]; there {
			filed[r.Templates[place].ID] = true
		}
	}
	ofSource := 0
	for _, t := range r.Templates {
		source := r.Origins[t.ID].Source
		if d.Source != "" && source == d.Source {
			ofSource++
		}
		switch {
		case filed[t.ID]:
		case source == "":
			a.withoutSource = append(a.withoutSource, t.ID)
		case source == d.Source && d.Prune:
			a.Deleted = append(a.Deleted, t.ID)
		case source == d.Source:
			a.leftovers = append(a.leftovers, t.ID)
		}
	}
	a.prunesMany = len(a.Deleted)*10 > ofSource
}

func (a *adjustment) template(r *Registry, source string, current TaggedTemplate, t DeclaredTemplate) error {
	origin, known := r.Origins[current.ID]
	if source != "" && origin.Source != "" && origin.Source != source {
		return &Error{
			Code:    CodeConflict,
			Message: fmt.Sprintf("the template %q belongs to the source %q", t.Name, origin.Source),
			Hint: fmt.Sprintf(
				"Give the file another name, or give up the other source with `muster source forget %s`.",
				origin.Source,
			),
		}
	}
	if is := (Origin{cmp.Or(source, origin.Source), t.Name}); !known || is != origin {
		a.Files.Origins[current.ID] = is
	}
	changed := t.Template
	changed.ID = current.ID
	if changed.Label != current.Label || changed.Priority != current.Priority || !changed.SaysTheSame(current.Template) {
		changed.CreatedAt, changed.UpdatedAt = current.CreatedAt, current.UpdatedAt
		a.Changed = append(a.Changed, changed)
	}
	if t.Tags != nil {
		a.retag(Tagging{Template: current.ID}, current.Tags, t.Tags)
	}
	return nil
}

// retag adds the tagging changes that turn the tags `are` into the tags `wanted`.
func (a *adjustment) retag(of Tagging, are, wanted []Tag) {
	for _, tag := range wanted {
		if of.Tag = tag; !slices.Contains(are, tag) && !slices.Contains(a.Tag, of) {
			a.Tag = append(a.Tag, of)
		}
	}
	for _, tag := range are {
		if of.Tag = tag; !slices.Contains(wanted, tag) {
			a.Untag = append(a.Untag, of)
		}
	}
}

func (a *adjustment) devices(r *Registry, d Declared) error {
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

// vars adds a change when the vars of a device or tag differ from what files say.
func (a *adjustment) vars(of VarsOwner, is SavedVars, wanted *Vars) {
	if wanted != nil && *wanted != is.Vars {
		a.Vars = append(a.Vars, VarsChange{of, SavedVars{Vars: *wanted}})
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

// given replaces a value unless by is nil.
func given[T any](value, by *T) {
	if by != nil {
		*value = *by
	}
}

func (a *adjustment) tags(r *Registry, d Declared) error {
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

func (a *adjustment) source(r *Registry, d Declared) error {
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
		a.Files.Kept = &SourceChange{from, to, !known}
	}
	return nil
}
