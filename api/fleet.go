package api

import "encoding/json"

// Fleet is a fleet in the form of the files: labels, tags, settings and vars of devices, and all templates. It holds
// no secret.
type Fleet struct {
	Generation  int64                    `json:"generation" doc:"Of the templates and tags"`
	FolderRoots []string                 `json:"folderRoots" nullable:"false" doc:"Below which paths authors may put folders"`
	Devices     map[string]FleetDevice   `json:"devices" nullable:"false" doc:"By device ID"`
	Tags        map[string]FleetTag      `json:"tags" nullable:"false" doc:"Those with settings of their own"`
	Templates   map[string]FleetTemplate `json:"templates" nullable:"false" doc:"By the name of their file, without its ending"`
	Sources     map[string]FleetSource   `json:"sources" nullable:"false" doc:"By name"`
}

// FleetDevice is a device of a Fleet.
type FleetDevice struct {
	Label    string        `json:"label" doc:"Of the device; blank: it has none"`
	Tags     []string      `json:"tags" nullable:"false" doc:"That the device carries"`
	Settings FleetSettings `json:"settings" doc:"Of the device"`

	Vars map[string]json.RawMessage `json:"vars" nullable:"false" doc:"Its own, by name"`

	System *FleetSystem `json:"system,omitempty" doc:"What its daemon tells of itself; missing before the first contact. Not changed by files"`
}

// FleetSystem is what templates can read of a daemon's software.
type FleetSystem struct {
	OS      string `json:"os" doc:"As Go names it: linux, windows, darwin, ..."`
	Arch    string `json:"arch" doc:"As Go names it: amd64, arm64, ..."`
	Version string `json:"version" doc:"Of Syncthing, as v2.1.3"`
}

// FleetSettings are the settings of a device that files may set. The pin is not among them.
type FleetSettings struct {
	Mode       string `json:"mode" enum:"on,observe,paused" doc:"What Muster does with a device: on writes, observe only reads, paused neither"`
	AllowPlain bool   `json:"allowPlain" doc:"Whether Muster may send its API key over plain HTTP"`
	Restart    bool   `json:"restart" doc:"Whether Muster may restart the daemon where a change needs that"`
	Way        string `json:"way" enum:"auto,agent,direct" doc:"How the daemon is reached: auto is whichever works"`
}

// FleetTag is a tag of a Fleet.
type FleetTag struct {
	Mode        string   `json:"mode" enum:"on,observe,paused" doc:"What Muster does with a device: on writes, observe only reads, paused neither"`
	FolderRoots []string `json:"folderRoots" nullable:"false" doc:"Below which paths authors may put folders on devices with the tag"`
	Protected   bool     `json:"protected" doc:"Whether only administrators give and take the tag"`

	Vars map[string]json.RawMessage `json:"vars" nullable:"false" doc:"Of the devices with the tag, by name"`
}

// FleetTemplate is a template of a Fleet.
type FleetTemplate struct {
	ID       int64    `json:"id" doc:"Of the template"`
	Label    string   `json:"label" doc:"Of the template; blank: it has none"`
	Priority int64    `json:"priority" doc:"Ascending, then by id: the larger number has the last word"`
	Op       string   `json:"op" doc:"What the template does with its key"`
	Key      string   `json:"key" doc:"Dotted key; blank is the whole configuration"`
	Template string   `json:"template" doc:"HJSON or Starlark"`
	Tags     []string `json:"tags" nullable:"false" doc:"That pick its devices"`
	Source   string   `json:"source" doc:"Where its file came from; blank: it came from none, or from files without a source"`
}

// FleetSource is a place that files come from.
type FleetSource struct {
	ReadOnly   bool        `json:"readOnly" doc:"Its templates are changed by its files alone"`
	Assertions []Assertion `json:"assertions" nullable:"false" doc:"What has to be true after every change"`
}

// Assertion says what must be true of the configurations of some devices.
type Assertion struct {
	Name                 string                     `json:"name" doc:"What messages call it"`
	Device               string                     `json:"device,omitempty" doc:"Label or ID of a device; or a tag, or all"`
	Tag                  string                     `json:"tag,omitempty" doc:"Every device with it"`
	All                  bool                       `json:"all,omitempty" doc:"Every device"`
	Expect               map[string]json.RawMessage `json:"expect,omitempty" doc:"The value at each of these keys"`
	Absent               []string                   `json:"absent,omitempty" nullable:"false" doc:"Keys at which there is nothing"`
	Count                map[string]int             `json:"count,omitempty" doc:"How many members there are at each of these keys"`
	Devices              *int                       `json:"devices,omitempty" doc:"How many devices it is about"`
	NoUnregisteredShares bool                       `json:"noUnregisteredShares,omitempty" doc:"Folders are shared with registered devices alone"`
}

// BrokenAssertion is an assertion that would not be true.
type BrokenAssertion struct {
	Source   string `json:"source" doc:"That keeps it; blank: it came with the request"`
	Name     string `json:"name" doc:"Of the assertion"`
	DeviceID string `json:"deviceID" doc:"Blank: it is about how many devices there are"`
	Label    string `json:"label" doc:"Of the device; blank: it has none"`
	Key      string `json:"key" doc:"Dotted key that was looked at"`
	Expected string `json:"expected" doc:"As the assertion says it"`
	Got      string `json:"got" doc:"What the plan has there"`
}

// PlanFleet is a fleet as files ask for it. Fields that are left out stay as they are.
type PlanFleet struct {
	Source      string                       `json:"source,omitempty" doc:"Where the files come from: templates that they make are marked with it"`
	ReadOnly    *bool                        `json:"readOnly,omitempty" doc:"Templates of the source are changed by its files alone"`
	Prune       bool                         `json:"prune,omitempty" doc:"Delete templates of the source that are not among these"`
	PruneMany   bool                         `json:"pruneMany,omitempty" doc:"Delete them although they are more than a tenth of the templates of the source"`
	FolderRoots []string                     `json:"folderRoots,omitzero" nullable:"false" doc:"Below which paths authors may put folders"`
	Devices     map[string]PlanFleetDevice   `json:"devices,omitempty" doc:"By device ID"`
	Tags        map[string]PlanFleetTag      `json:"tags,omitempty" doc:"Settings of tags, by their names"`
	Templates   map[string]PlanFleetTemplate `json:"templates,omitempty" doc:"By the name of their file, without its ending"`
	Assertions  []Assertion                  `json:"assertions,omitzero" nullable:"false" doc:"What must be true of the plan"`
	Keep        bool                         `json:"keep,omitempty" doc:"Keep the assertions with the source: they are checked whenever somebody plans or makes a change that touches their devices"`

	AllowFailing bool `json:"allowFailing,omitempty" doc:"Accept the change even where no plan could be made any more for a device that has one now, and with values of a wrong type or units that daemons read as bytes; else the answer is 422 and names them"`
}

// PlanFleetDevice is a registered device as files ask for it.
type PlanFleetDevice struct {
	Label    *string            `json:"label,omitempty" doc:"Of the device"`
	Tags     []string           `json:"tags,omitzero" nullable:"false" doc:"All that it carries"`
	Settings *PlanFleetSettings `json:"settings,omitempty" doc:"Of the device"`

	Vars map[string]json.RawMessage `json:"vars,omitzero" nullable:"false" doc:"All of its own, by name"`

	System *FleetSystem `json:"system,omitempty" doc:"As it was exported; it changes nothing"`
}

// PlanFleetSettings are the settings of a device as files ask for them.
type PlanFleetSettings struct {
	Mode       *string `json:"mode,omitempty" enum:"on,observe,paused" doc:"What Muster does with a device: on writes, observe only reads, paused neither"`
	AllowPlain *bool   `json:"allowPlain,omitempty" doc:"Whether Muster may send its API key over plain HTTP"`
	Restart    *bool   `json:"restart,omitempty" doc:"Whether Muster may restart the daemon where a change needs that"`
	Way        *string `json:"way,omitempty" enum:"auto,agent,direct" doc:"How the daemon is reached: auto is whichever works"`
}

// PlanFleetTag is what files ask for the devices with a tag.
type PlanFleetTag struct {
	Mode        *string  `json:"mode,omitempty" enum:"on,observe,paused" doc:"What Muster does with a device: on writes, observe only reads, paused neither"`
	FolderRoots []string `json:"folderRoots,omitzero" nullable:"false" doc:"Below which paths authors may put folders"`
	Protected   *bool    `json:"protected,omitempty" doc:"Whether only administrators give and take the tag"`

	Vars map[string]json.RawMessage `json:"vars,omitzero" nullable:"false" doc:"All of the devices with the tag, by name"`
}

// PlanFleetTemplate is a template as its file has it.
type PlanFleetTemplate struct {
	Label    *string  `json:"label,omitempty" doc:"Of the template"`
	Priority *int64   `json:"priority,omitempty" default:"0" doc:"Ascending, then by id: the larger number has the last word"`
	Op       *string  `json:"op" doc:"What the template does with its key"`
	Key      *string  `json:"key" doc:"Dotted key; blank is the whole configuration"`
	Template *string  `json:"template" doc:"HJSON or Starlark"`
	Tags     []string `json:"tags,omitzero" nullable:"false" doc:"All that it carries; left out, they stay"`
}

// ApplyFleet is the body of a POST that makes the changes that files ask for.
type ApplyFleet struct {
	PlanFleet
	Digest *string `json:"digest" doc:"Of the plan that was looked at; when the plan is another by now, the answer is 412"`
}

// FleetPlan is the plan of the changes that files ask for.
type FleetPlan struct {
	WhatIfPlan
	Digest  string        `json:"digest" doc:"Of what would be changed in Muster, and of the generation that it was compared with"`
	Differs bool          `json:"differs" doc:"Something would be changed in Muster"`
	Changes []FleetChange `json:"changes" nullable:"false" doc:"What would be changed in Muster"`
	Asks    []string      `json:"asks" nullable:"false" doc:"Who would be asked for approval and consent"`

	Leftovers     []UnfiledTemplate `json:"leftovers" nullable:"false" doc:"Templates of the source that no file has any more: deleted when the body says prune"`
	WithoutSource []UnfiledTemplate `json:"withoutSource" nullable:"false" doc:"Templates that belong to no source and are in no file: files leave them alone"`
	PrunesMany    bool              `json:"prunesMany" doc:"More than a tenth of the source's templates would be deleted: to apply this, the body says pruneMany"`
}

// UnfiledTemplate is a template that no file describes.
type UnfiledTemplate struct {
	ID   int64    `json:"id" doc:"Of the template"`
	Name string   `json:"name" doc:"The name that its file has or would have, without its ending"`
	Op   string   `json:"op" doc:"What the template does with its key"`
	Key  string   `json:"key" doc:"Dotted key; blank is the whole configuration"`
	Tags []string `json:"tags" nullable:"false" doc:"Names of tags"`
}

// FleetChange is one change of what Muster keeps.
type FleetChange struct {
	Kind string `json:"kind" enum:"template,device,tag,fleet,source" doc:"What the change is about"`
	Name string `json:"name" doc:"Of the template's file, of the device or its ID, of the tag or the source"`
	What string `json:"what" enum:"create,change,delete" doc:"What it is about, for a person"`
	Text string `json:"text" doc:"What of it, for a person"`
}

// AppliedFleet is the answer to an ApplyFleet.
type AppliedFleet struct {
	Generation int64    `json:"generation" doc:"Of the templates and tags as they are now"`
	Changed    bool     `json:"changed" doc:"Something differed"`
	Warnings   []string `json:"warnings" nullable:"false" doc:"What is most probably a mistake, for a person"`
}
