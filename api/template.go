package api

import "encoding/json"

// WarningHeader is the header of an answer to a write that was done, and may be a mistake: a secret in clear in a
// template, a new label of a device whose templates use the label. Its text has escapes as a JSON string does.
const WarningHeader = "Muster-Warning"

// Template is a fragment of configuration that applies to the devices with which it shares a tag.
type Template struct {
	ID        int64  `json:"id" readOnly:"true" doc:"Assigned by the service, never used again"`
	Label     string `json:"label" doc:"Name for people"`
	Priority  int64  `json:"priority" doc:"Ascending, then by id: the larger number has the last word"`
	Op        string `json:"op" enum:"set,merge,append,remove" doc:"What to do at the key; any letter case is accepted"`
	Key       string `json:"key" doc:"Dotted key into the daemon's configuration; blank is the whole"`
	Template  string `json:"template" doc:"HJSON or Starlark"`
	CreatedAt Time   `json:"createdAt" format:"date-time" readOnly:"true" doc:"Set by the service"`
	UpdatedAt Time   `json:"updatedAt" format:"date-time" readOnly:"true" doc:"Set by the service"`
}

// PutTemplate is the body of a POST or PUT of a template. What was read may be sent back as it is.
type PutTemplate struct {
	ID        json.RawMessage `json:"id,omitempty" readOnly:"true" doc:"Ignored"`
	Label     *string         `json:"label,omitempty" doc:"At most 4 KiB"`
	Priority  *int64          `json:"priority,omitempty" default:"0" doc:"Ascending, then by id: the larger number has the last word"`
	Op        *string         `json:"op" doc:"set, merge, append or remove, in any letter case"`
	Key       *string         `json:"key" doc:"Dotted key, at most 1 KiB; blank is the whole configuration"`
	Template  *string         `json:"template" doc:"HJSON or Starlark, at most 1 MiB"`
	CreatedAt json.RawMessage `json:"createdAt,omitempty" readOnly:"true" doc:"Ignored"`
	UpdatedAt json.RawMessage `json:"updatedAt,omitempty" readOnly:"true" doc:"Ignored"`
}

// EvaluateTemplate is the body of an evaluation: a template, of which only the text is needed.
type EvaluateTemplate struct {
	ID        json.RawMessage `json:"id,omitempty" readOnly:"true" doc:"Ignored"`
	Label     *string         `json:"label,omitempty" doc:"Ignored"`
	Priority  *int64          `json:"priority,omitempty" doc:"Ignored"`
	Op        *string         `json:"op,omitempty" default:"set" doc:"What the template does with its key"`
	Key       *string         `json:"key,omitempty" default:"" doc:"Dotted key; blank is the whole configuration"`
	Template  *string         `json:"template" doc:"HJSON or Starlark"`
	CreatedAt json.RawMessage `json:"createdAt,omitempty" readOnly:"true" doc:"Ignored"`
	UpdatedAt json.RawMessage `json:"updatedAt,omitempty" readOnly:"true" doc:"Ignored"`
}

// Evaluation is what a template makes of one device's configuration.
type Evaluation struct {
	DeviceID   string          `json:"deviceID" doc:"The device it was evaluated for; blank for the built-in sample"`
	Language   string          `json:"language" enum:"hjson,starlark" doc:"Of the text"`
	Value      json.RawMessage `json:"value" doc:"What the body evaluates to, any JSON"`
	Changes    []KeyChange     `json:"changes" nullable:"false" doc:"What it would change in the configuration"`
	Warnings   []string        `json:"warnings" nullable:"false" doc:"What is most probably a mistake, for a person"`
	Output     []string        `json:"output" nullable:"false" doc:"What the program printed, by line"`
	Steps      uint64          `json:"steps" doc:"Steps of the Starlark interpreter"`
	DurationMs int64           `json:"durationMs" doc:"How long the evaluation took"`
}

// KeyChange is one changed key of a configuration.
type KeyChange struct {
	Key  string          `json:"key" doc:"Key that changes"`
	From json.RawMessage `json:"from" doc:"Any JSON; null when the key is not there"`
	To   json.RawMessage `json:"to" doc:"Any JSON; null when the key goes away"`
}

// TemplateVersion is a version of a template, from a generation on, without its text.
type TemplateVersion struct {
	Generation int64  `json:"generation" doc:"Number of the change"`
	At         Time   `json:"at" format:"date-time" doc:"When it was changed so"`
	By         string `json:"by" doc:"Who changed it; blank when that was not kept"`
	Cause      string `json:"cause" doc:"Title of the change: what its maker wrote (Muster-Message), or what was changed"`
	SavedBy    string `json:"savedBy" doc:"Who wrote op, key and text; blank when that was not kept"`
	SavedRole  string `json:"savedRole" enum:",author,admin" doc:"With what role; blank when that was not kept"`
	Label      string `json:"label" doc:"Of the template"`
	Priority   int64  `json:"priority" doc:"Ascending, then by id: the larger number has the last word"`
	Op         string `json:"op" enum:"set,merge,append,remove" doc:"What the template does with its key"`
	Key        string `json:"key" doc:"Dotted key; blank is the whole configuration"`
}

// TemplateSaver is who last saved the op, key and text of a template.
type TemplateSaver struct {
	Name string `json:"name" doc:"Of the token; blank when it was not kept"`
	Role string `json:"role" doc:"Of the token at that time; blank when it was not kept, which counts as below admin" enum:",author,admin"`
}

// TemplateVersionText is a TemplateVersion with its text.
type TemplateVersionText struct {
	TemplateVersion
	Template string `json:"template" doc:"HJSON or Starlark"`
}
