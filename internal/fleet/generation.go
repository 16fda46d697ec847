package fleet

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// GenerationChange is what one generation changed.
type GenerationChange struct {
	Number       int64
	Cause        string
	By           string // name of the person or token that made it; "" when unknown
	At           time.Time
	Templates    []TemplateChange
	DeviceTags   []DeviceTagChange
	TemplateTags []TemplateTagChange
	Vars         []VarsChange
}

// Maker is who made a generation.
type Maker struct {
	Generation int64
	Name       string // name of the user or token; "" when unknown
	Person     string // the user, or the owner of the token; "": not known
	At         time.Time
}

// TemplateVersion is a template as it was from a generation on.
type TemplateVersion struct {
	Generation int64
	At         time.Time // time of the generation
	By         string    // name of the person or token that made the generation; "" when unknown
	Cause      string    // cause of the generation
	SavedBy    string    // name of the person or token that saved op, key and text, perhaps in an earlier generation
	SavedRole  Role
	Label      string
	Priority   int64
	Op         Op
	Key        string
	Text       string // "" in lists
}

// TemplateChange is the state of a template from a generation on.
type TemplateChange struct {
	Template Template
	Deleted  bool
}

// DeviceTagChange says that a device had a tag from a generation on, or no longer had it.
type DeviceTagChange struct {
	Device  DeviceID
	Tag     Tag
	Carried bool
}

// TemplateTagChange says the same of a template.
type TemplateTagChange struct {
	Template int64
	Tag      Tag
	Carried  bool
}

// Difference is what several generations changed together.
type Difference struct {
	Templates []TemplateDifference // ordered by ID
	Tags      []TagDifference
	Vars      []VarsDifference // vars of devices, then of tags, each sorted
}

// VarsDifference is the vars of a device or tag before and after.
type VarsDifference struct {
	VarsOwner
	Before, After Vars
}

// VarDifference is one var before and after; nil where it does not exist.
type VarDifference struct {
	Name          string
	Before, After json.RawMessage
}

// Each returns the vars that differ, sorted by name.
func (d VarsDifference) Each() (all []VarDifference) {
	before, after := d.Before.Values(), d.After.Values()
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if !bytes.Equal(before[name], after[name]) {
			all = append(all, VarDifference{Name: name, Before: before[name], After: after[name]})
		}
	}
	return all
}

// TemplateDifference is a template before and after.
type TemplateDifference struct {
	ID     int64
	Label  string
	Before *Template // nil: the template did not exist
	After  *Template // nil: the template was deleted
}

// TagDifference says that a tag was added to or removed from a device or a template.
type TagDifference struct {
	Tag      Tag
	Device   DeviceID // "" for a template
	Template int64    // 0 for a device
	Carried  bool
}
