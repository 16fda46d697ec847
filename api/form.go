package api

// Form is what a person filled in, instead of writing a template. One of its fields is given.
type Form struct {
	Share  *ShareForm  `json:"share,omitempty" doc:"A folder that the devices with certain tags share"`
	Filled *FilledForm `json:"filled,omitempty" doc:"One of the forms that GET /api/v1/forms describes"`
}

// FilledForm is a form with a description that was filled in.
type FilledForm struct {
	Name   string              `json:"name" doc:"Of the form, for example limits"`
	Fields map[string][]string `json:"fields" nullable:"false" doc:"What was filled in, by the names of the fields. A field that takes one value has a list of one; a field without a value is left out"`
}

// FormKind describes a form.
type FormKind struct {
	Name   string      `json:"name" doc:"Name of the form"`
	Title  string      `json:"title" doc:"What a person wants, in words"`
	Help   string      `json:"help" doc:"What it is for"`
	Fields []FormField `json:"fields" nullable:"false" doc:"What it asks for"`
}

// FormField is one thing that a person fills in.
type FormField struct {
	Name     string         `json:"name" doc:"Key of its value in a form"`
	Label    string         `json:"label" doc:"What a person reads beside it"`
	Help     string         `json:"help,omitempty" doc:"What it is for"`
	Type     string         `json:"type" enum:"text,choice,number,rate,tags,folder,secret,lines,key,value" doc:"rate: a number with a unit, such as 2 MB/s. folder: the ID of a folder. lines and tags: several. key: the key of a setting; value: what that setting takes (GET /api/v1/config-settings)"`
	Choices  []FormChoice   `json:"choices,omitempty" nullable:"false" doc:"Of a choice"`
	Example  string         `json:"example,omitempty" doc:"A value that works; blank: none"`
	Default  string         `json:"default,omitempty" doc:"What a required field has where nothing is filled in"`
	Required bool           `json:"required" doc:"Whether it needs a value"`
	Least    int64          `json:"least" doc:"Of a number"`
	Most     int64          `json:"most" doc:"Of a number"`
	OnlyIf   *FormCondition `json:"onlyIf,omitempty" doc:"Where it does not hold, the field is left out"`
}

// FormChoice is one value of a choice.
type FormChoice struct {
	Value string `json:"value" doc:"As a form has it"`
	Label string `json:"label" doc:"What a person reads"`
}

// FormCondition holds where a field has one of these values.
type FormCondition struct {
	Field string   `json:"field" doc:"Name of the field that decides"`
	Is    []string `json:"is" nullable:"false" doc:"One of these values"`
}

// ConfigSetting is a field of Syncthing's configuration that one can set by itself.
type ConfigSetting struct {
	Key     string   `json:"key" doc:"* means every folder or device; the ID of one may be written instead"`
	Type    string   `json:"type" enum:"flag,number,text,texts" doc:"flag: true or false. texts: several"`
	Choices []string `json:"choices,omitempty" nullable:"false" doc:"All values of a text; none: every text"`
	Default []string `json:"default" nullable:"false" doc:"Of a current daemon. A setting that takes one value has a list of one"`
	Help    string   `json:"help" doc:"What the setting does"`
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
	Form     *Form  `json:"form" doc:"What a person filled in"`
	Template *int64 `json:"template,omitempty" doc:"ID of the template that is to become this one; without it, a new one"`
	Label    string `json:"label,omitempty" doc:"Of the template; without it, one made of the form, or the one that the template has"`
}

// WrittenForm is the template that a form writes.
type WrittenForm struct {
	Label    string   `json:"label" doc:"Of the template"`
	Op       string   `json:"op" enum:"set,merge,append,remove" doc:"What the template does with its key"`
	Key      string   `json:"key" doc:"Dotted key; blank is the whole configuration"`
	Template string   `json:"template" doc:"HJSON or Starlark"`
	Tags     []string `json:"tags" nullable:"false" doc:"That pick its devices"`
	Change   WhatIf   `json:"change" doc:"The change that stores it: the body of POST /api/v1/plan, which says what it would do, and of POST /api/v1/changes, which makes it"`
	Warnings []string `json:"warnings" nullable:"false" doc:"Probable mistakes: no other device would share the folder, no device has a tag of the form, or another template asks for other values, and which one has the last word"`
}

// TemplateForm is the form that a template can be edited as.
type TemplateForm struct {
	Form   *Form `json:"form,omitempty" doc:"Left out where the template is not exactly the one that a form writes: it is edited as text"`
	Edited bool  `json:"edited" doc:"true: a form wrote the template, and a person changed its text, key, op or tags since"`
}
