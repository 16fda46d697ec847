package api

// WhatIf is the body of a POST of a plan: possible changes of templates, tags, vars and
// revocations. Nothing is stored.
type WhatIf struct {
	Templates *WhatIfTemplates `json:"templates,omitempty" doc:"Templates that might come, change or go"`
	Tags      *WhatIfTags      `json:"tags,omitempty" doc:"Tags that devices and templates might get or lose"`
	Vars      *WhatIfVars      `json:"vars,omitempty" doc:"Vars that might be set"`

	Revocations *WhatIfRevocations `json:"revocations,omitempty" doc:"Devices that might be revoked"`

	AllowFailing bool `json:"allowFailing,omitempty" doc:"Accept the change even where no plan could be made any more for a device that has one now, and with values of a wrong type or units that daemons read as bytes; else the answer is 422 and names them"`
}

// WhatIfTemplates are templates that might come, change or go.
type WhatIfTemplates struct {
	New     []WhatIfNew     `json:"new,omitempty" nullable:"false" doc:"Templates that might come"`
	Changed []WhatIfChanged `json:"changed,omitempty" nullable:"false" doc:"Templates that might change"`
	Deleted []int64         `json:"deleted,omitempty" nullable:"false" doc:"IDs"`
}

// WhatIfNew is a template that might be created.
type WhatIfNew struct {
	Label    *string  `json:"label,omitempty" doc:"Of the template"`
	Priority *int64   `json:"priority,omitempty" default:"0" doc:"Ascending, then by id: the larger number has the last word"`
	Op       *string  `json:"op" doc:"set, merge, append or remove, in any letter case"`
	Key      *string  `json:"key" doc:"Dotted key; blank is the whole configuration"`
	Template *string  `json:"template" doc:"HJSON or Starlark"`
	Tags     []string `json:"tags,omitempty" nullable:"false" doc:"Without a tag a template applies to nobody"`
}

// WhatIfChanged is a template that might be changed. What is left out stays; a blank key is a key.
type WhatIfChanged struct {
	ID       *int64  `json:"id" doc:"Of the template"`
	Label    *string `json:"label,omitzero" doc:"Of the template"`
	Priority *int64  `json:"priority,omitzero" doc:"Ascending, then by id: the larger number has the last word"`
	Op       *string `json:"op,omitzero" doc:"What the template does with its key"`
	Key      *string `json:"key,omitzero" doc:"Dotted key; blank is the whole configuration"`
	Template *string `json:"template,omitzero" doc:"HJSON or Starlark"`
}

// WhatIfTags are tags that might be attached or taken off.
type WhatIfTags struct {
	Added   []WhatIfTag `json:"added,omitempty" nullable:"false" doc:"Tags that might be given"`
	Removed []WhatIfTag `json:"removed,omitempty" nullable:"false" doc:"Tags that might be taken"`
}

// WhatIfTag is a tag on a device or on a template.
type WhatIfTag struct {
	Tag      *string `json:"tag" doc:"Name of the tag"`
	Device   *string `json:"device,omitempty" doc:"ID of the device; or name a template"`
	Template *int64  `json:"template,omitempty" doc:"ID of the template; or name a device"`
}

// WhatIfPlan is the plan of possible changes, compared with the present templates, tags and vars.
type WhatIfPlan struct {
	Generation   int64             `json:"generation" doc:"Of the templates and tags that it was compared with"`
	NewTemplates []int64           `json:"newTemplates" nullable:"false" doc:"The IDs that stand for the new templates here, in their order"`
	Warnings     []string          `json:"warnings" nullable:"false" doc:"What is most probably a mistake in the new and changed templates, and the assertions that revocations would break"`
	Summary      Summary           `json:"summary" doc:"What would change, in sentences"`
	Touched      Touched           `json:"touched" doc:"How many devices, folders and keys would change"`
	Approval     string            `json:"approval" doc:"Why it would wait for an admin's approval: it touches more devices than --approval-threshold; blank when it would not"`
	Waves        []int             `json:"waves" nullable:"false" doc:"Devices in each wave of the rollout that it would be, if all can be reached; empty when no rollout is needed, and for a token with a tag scope"`
	Folders      []TouchedFolder   `json:"folders" nullable:"false" doc:"Most devices first; at most 1,000"`
	Keys         []TouchedKey      `json:"keys" nullable:"false" doc:"Most devices first; at most 1,000"`
	Devices      []DeviceEffect    `json:"devices" nullable:"false" doc:"Those for which something differs, in the order of the device list"`
	Broken       []BrokenAssertion `json:"broken" nullable:"false" doc:"Assertions that would not be true; at most 100. Such a change is refused. Of revocations alone they are warnings"`
	Truncated    bool              `json:"truncated" doc:"There are too many changes to show: some devices come without theirs; the numbers are of all"`
}

// Touched counts what would change in the fleet, now or after a person consents. Skipped and refused changes do not
// count.
type Touched struct {
	Devices int `json:"devices" doc:"Devices that would change"`
	Folders int `json:"folders" doc:"By folder ID"`
	Keys    int `json:"keys" doc:"Keys that would change"`
	Held    int `json:"held" doc:"Changes that would wait for consent"`
	Refused int `json:"refused" doc:"Changes that would never be made"`
	Failed  int `json:"failed" doc:"Devices for which no plan could be made"`
	Unread  int `json:"unread" doc:"Devices that were never read, so that nobody knows"`
}

// TouchedFolder is a folder and on how many devices it would change.
type TouchedFolder struct {
	Folder  string `json:"folder" doc:"ID of the folder"`
	Devices int    `json:"devices" doc:"Devices on which it would change"`
}

// TouchedKey is a key and on how many devices it would change.
type TouchedKey struct {
	Key     string `json:"key" doc:"Key that would change"`
	Devices int    `json:"devices" doc:"Devices on which it would change"`
}

// DeviceEffect is the difference for one device.
type DeviceEffect struct {
	DeviceID string          `json:"deviceID" doc:"Of the device"`
	Label    string          `json:"label" doc:"Of the device; blank: it has none"`
	Changes  []PlannedChange `json:"changes" nullable:"false" doc:"What would be changed and is not planned now"`
	Dropped  []PlannedChange `json:"dropped" nullable:"false" doc:"What is planned now and would not be"`
	Unread   bool            `json:"unread" doc:"The daemon's configuration was never read: nobody knows"`
	Error    string          `json:"error" doc:"Why no plan could be made; blank otherwise"`
	FailsNow bool            `json:"failsNow" doc:"No plan can be made without the change, either"`
}
