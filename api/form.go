package api

// Form is what a person filled in, instead of writing a template. One of its fields is given.
type Form struct {
	Share *ShareForm `json:"share,omitempty" doc:"A folder that the devices with certain tags share"`
}

// ShareForm is a folder that the devices with certain tags share. A device that has tags of two roles has the role
// that comes first here.
type ShareForm struct {
	Folder          string            `json:"folder,omitempty" doc:"ID of the folder; without it, one made from the label"`
	Label           string            `json:"label" doc:"Name of the folder for people"`
	Paths           map[string]string `json:"paths" nullable:"false" doc:"Where the folder is, by operating system (windows, darwin, linux, ...); under the blank name for every other. {name} is replaced by the var of that name"`
	Encrypted       []string          `json:"encrypted,omitempty" nullable:"false" doc:"Tags of the devices that get the folder encrypted"`
	ReceiveOnly     []string          `json:"receiveOnly,omitempty" nullable:"false" doc:"Tags of the devices that receive only"`
	SendOnly        []string          `json:"sendOnly,omitempty" nullable:"false" doc:"Tags of the devices that send only"`
	SendReceive     []string          `json:"sendReceive,omitempty" nullable:"false" doc:"Tags of the devices that send and receive"`
	Hubs            []string          `json:"hubs,omitempty" nullable:"false" doc:"Tags: devices with one of them share with all, the others only with those. Without one, everyone shares with everyone"`
	Secret          string            `json:"secret,omitempty" doc:"Name of the secret with the password for those that get it encrypted"`
	Versioning      *VersioningForm   `json:"versioning,omitempty" doc:"What becomes of earlier versions of files; without it, as the daemon has it"`
	Ignores         []string          `json:"ignores,omitempty" nullable:"false" doc:"Ignore patterns, by line; they replace those of the devices. Without one, those of the devices stay"`
	KeepFreePercent int               `json:"keepFreePercent,omitempty" doc:"How much of the disk stays free; 0: as the daemon has it"`
}

// VersioningForm is what a daemon does with earlier versions of files.
type VersioningForm struct {
	Type   string            `json:"type" doc:"trashcan, simple or staggered"`
	Params map[string]string `json:"params,omitempty" nullable:"false" doc:"Whole numbers as texts: cleanoutDays (trashcan, simple), keep (simple), maxAge in seconds (staggered)"`
}

// WriteForm is the body of a POST that turns a form into a template. Nothing is stored.
type WriteForm struct {
	Form     *Form  `json:"form"`
	Template *int64 `json:"template,omitempty" doc:"ID of the template that is to become this one; without it, a new one"`
	Label    string `json:"label,omitempty" doc:"Of the template; without it, that of the folder, or the one that the template has"`
}

// WrittenForm is the template that a form writes.
type WrittenForm struct {
	Label    string   `json:"label"`
	Op       string   `json:"op" enum:"set,merge,append,remove"`
	Key      string   `json:"key"`
	Template string   `json:"template" doc:"HJSON or Starlark"`
	Tags     []string `json:"tags" nullable:"false"`
	Change   WhatIf   `json:"change" doc:"The change that stores it: the body of POST /api/v1/plan, which says what it would do, and of POST /api/v1/changes, which makes it"`
	Warnings []string `json:"warnings" nullable:"false" doc:"Probable mistakes: no other device would share the folder, or no device has a tag of the form"`
}

// TemplateForm is the form that a template can be edited as.
type TemplateForm struct {
	Form   *Form `json:"form,omitempty" doc:"Left out where the template is not exactly the one that a form writes: it is edited as text"`
	Edited bool  `json:"edited" doc:"true: a form wrote the template, and a person changed its text, key, op or tags since"`
}
