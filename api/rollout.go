package api

import "encoding/json"

// Rollout brings the devices that an accepted change affects to what it asks, wave by wave.
type Rollout struct {
	ID           int64            `json:"id" doc:"Grows with each rollout"`
	Generation   int64            `json:"generation" doc:"That its devices are brought to"`
	Before       int64            `json:"before" doc:"The generation at which devices are that were not admitted yet"`
	Cause        string           `json:"cause" doc:"Title of the change: what its maker wrote (Muster-Message), or what was changed"`
	Status       string           `json:"status" enum:"waiting,running,paused,halted,undone,succeeded,superseded" doc:"How far it is"`
	Reason       string           `json:"reason" doc:"Why it stands so, for a person"`
	Next         string           `json:"next" doc:"What happens next, or what the person can do"`
	Waves        []int            `json:"waves" nullable:"false" doc:"Devices in each wave; empty before the start"`
	Wave         int              `json:"wave" doc:"The last wave that was admitted, from 1; 0 before the start"`
	Halt         *RolloutHalt     `json:"halt,omitempty" doc:"Only there when it was halted"`
	WavePlan     []string         `json:"wavePlan" nullable:"false" doc:"How the waves are made: numbers of devices, shares like 10%, and rest"`
	Approval     *RolloutApproval `json:"approval,omitempty" doc:"Only there when it needs the approval of an admin before its first wave"`
	Undoes       int64            `json:"undoes" doc:"The rollout that it takes back; 0 for none"`
	UndoneBy     int64            `json:"undoneBy" doc:"The generation that took it back; 0 without one"`
	SupersededBy int64            `json:"supersededBy" doc:"The generation of the change that came over it; 0 without one"`
	CreatedAt    Time             `json:"createdAt" format:"date-time" doc:"When it was made"`
	StartedAt    *Time            `json:"startedAt" format:"date-time" nullable:"true" doc:"When its first wave was admitted; null: not yet"`
	WaveAt       *Time            `json:"waveAt" format:"date-time" nullable:"true" doc:"When the last wave was admitted"`
	EndedAt      *Time            `json:"endedAt" format:"date-time" nullable:"true" doc:"null: it goes on"`
}

// RolloutHalt says who or what halted a rollout.
type RolloutHalt struct {
	By     string `json:"by" doc:"A token's name; muster for a gate"`
	Gate   string `json:"gate" doc:"api, plan or folders; blank for a person"`
	Device string `json:"device" doc:"At which the gate failed; blank for a person"`
	Saw    string `json:"saw" doc:"What was seen there, for a person"`
	At     Time   `json:"at" format:"date-time" doc:"When it was halted"`
}

// RolloutApproval is the approval that a rollout over many devices needs.
type RolloutApproval struct {
	Reason string `json:"reason" doc:"Why it is needed"`
	By     string `json:"by" doc:"Blank while it is not given"`
	At     *Time  `json:"at" format:"date-time" nullable:"true" doc:"When it was given; null: not yet"`
}

// RolloutWaves is the plan of the waves of a rollout that are not admitted yet.
type RolloutWaves struct {
	Waves *[]string `json:"waves" nullable:"false" doc:"Numbers of devices, shares of all members like 10%, and rest at the end"`
}

// RolloutTemplate is a template that a rollout carries, as it was before and as it is with it.
type RolloutTemplate struct {
	ID     int64         `json:"id" doc:"Of the template"`
	Label  string        `json:"label" doc:"Of the template; blank: it has none"`
	Before *TemplateText `json:"before,omitempty" doc:"Missing for one that was not there"`
	After  *TemplateText `json:"after,omitempty" doc:"Missing for one that was deleted"`
}

// TemplateText are the parts of a template that have an effect on devices.
type TemplateText struct {
	Op       string `json:"op" doc:"What the template does with its key"`
	Key      string `json:"key" doc:"Dotted key; blank is the whole configuration"`
	Priority int64  `json:"priority" doc:"Ascending, then by id: the larger number has the last word"`
	Template string `json:"template" doc:"HJSON or Starlark"`
}

// RolloutTag is a tag that was put on a device or a template, or taken off.
type RolloutTag struct {
	Tag      string `json:"tag" doc:"Name of the tag"`
	DeviceID string `json:"deviceID,omitempty" doc:"Left out when it is about a template"`
	Template int64  `json:"template,omitempty" doc:"Left out when it is about a device"`
	Carried  bool   `json:"carried" doc:"Whether it carries the tag after the change"`
}

// RolloutVar is a var of a device, or of the devices with a tag, that a rollout changes.
type RolloutVar struct {
	Name     string          `json:"name" doc:"Of the variable"`
	Tag      string          `json:"tag,omitempty" doc:"Whose var it is; missing for a device's own"`
	DeviceID string          `json:"deviceID,omitempty" doc:"Of the device"`
	Before   json.RawMessage `json:"before,omitzero" doc:"Missing for one that was not there"`
	After    json.RawMessage `json:"after,omitzero" doc:"Missing for one that was taken away"`
}

// RolloutDetail is a rollout with its members.
type RolloutDetail struct {
	Rollout
	Templates []RolloutTemplate `json:"templates" nullable:"false" doc:"That it changes"`
	Tags      []RolloutTag      `json:"tags" nullable:"false" doc:"That it changes"`
	Vars      []RolloutVar      `json:"vars" nullable:"false" doc:"That it changes"`
	Members   []RolloutMember   `json:"members" nullable:"false" doc:"In the order of admission, those in no wave last"`
}

// RolloutRest is what the devices of a rollout still get.
type RolloutRest struct {
	Devices int     `json:"devices" doc:"That are not through; 0 when the rollout is over"`
	Left    int     `json:"left" doc:"Devices that were too many to plan: the sentences are without them"`
	Summary Summary `json:"summary" doc:"What their plans would change under the templates, tags and vars of now"`
}

// UndoRollout is what a person was shown of an undo, and consents to.
type UndoRollout struct {
	Shown []ShownChange `json:"shown,omitzero" nullable:"false" doc:"Held changes of the plan that was shown, by the digests that it gives them. The undo consents to each that is still the same. What is not named waits for an answer, and the reply lists it, also where the list is empty. Needs generation where it names a change"`
}

// UndoneRollout is a rollout that was undone, with what was answered.
type UndoneRollout struct {
	RolloutDetail
	Answered []AnsweredKey `json:"answered" nullable:"false" doc:"Changes that were shown and are consented to"`
	Waiting  []AnsweredKey `json:"waiting" nullable:"false" doc:"Held changes of the undo that the answer does not cover, or that the caller may not answer: they wait, and GET consents lists them. Empty without shown, because nothing was planned then"`
	Problems []string      `json:"problems" nullable:"false" doc:"What failed besides the undo, which is done, for a person"`
}

// RolloutMember is one device of a rollout.
type RolloutMember struct {
	DeviceID string   `json:"deviceID" doc:"Of the device"`
	Label    string   `json:"label" doc:"Blank when the device is registered no more"`
	Wave     int      `json:"wave" doc:"From 1; 0: in no wave, because it could not be reached or written to at the start"`
	State    string   `json:"state" enum:"later,absent,admitted,held,good,failed" doc:"How far it is with the device"`
	Reason   string   `json:"reason" doc:"Why, for a person"`
	Was      string   `json:"was" doc:"Configuration state at the start"`
	Errors   []string `json:"errors" nullable:"false" doc:"Folders in error at the start"`
	Waived   bool     `json:"waived" doc:"A person resumed the rollout although this device failed a gate"`
}
