package api

import "encoding/json"

// HeldGroup is equal held changes of several devices. A person answers those that they were shown together.
type HeldGroup struct {
	Digest      string       `json:"digest" doc:"Of the group: the same templates in the same revision, key and value, whichever registered devices it names; where a template computes a value for each device, the value does not count"`
	Key         string       `json:"key" doc:"With * in the place of a registered device"`
	Alike       bool         `json:"alike" doc:"All changes have the same key and the same values"`
	Answers     []string     `json:"answers" nullable:"false" enum:"consent,keep,value" doc:"Those that can be given"`
	Choices     []Choice     `json:"choices" nullable:"false" doc:"The values that the answer value can name"`
	Role        string       `json:"role" enum:"operator,admin" doc:"That consent needs; keep needs operator"`
	Removes     bool         `json:"removes" doc:"A folder or a device is removed"`
	Templates   []int64      `json:"templates" nullable:"false" doc:"The templates that ask for it; none where it returns to what it was"`
	Rollout     int64        `json:"rollout" doc:"That speaks for the devices; 0 without one"`
	DeviceCount int          `json:"deviceCount" doc:"How many devices it changes"`
	Summary     Summary      `json:"summary" doc:"What an answer would let out, in sentences"`
	Changes     []HeldChange `json:"changes" nullable:"false" doc:"All that the group changes now, by device and key"`
}

// HeldChange is the change of one device in a group.
type HeldChange struct {
	DeviceID string          `json:"deviceID" doc:"Of the device"`
	Label    string          `json:"label" doc:"Of the device; blank: it has none"`
	Digest   string          `json:"digest" doc:"Of this very change: an answer names it. Blank where the values are too large to be shown here; then POST devices/{deviceID}/apply answers"`
	Key      string          `json:"key" doc:"Key that would change"`
	From     json.RawMessage `json:"from" doc:"Any JSON; null when the key is not there"`
	To       json.RawMessage `json:"to" doc:"Any JSON; null when the key goes away"`
	Reason   string          `json:"reason" doc:"Why it waits, for a person"`
	Names    ChangeNames     `json:"names" doc:"What the key and the values name"`
}

// ChangeNames are the devices, folders and paths that a change names.
type ChangeNames struct {
	Devices []NamedDevice `json:"devices" nullable:"false" doc:"Whom the change names"`
	Folders []string      `json:"folders" nullable:"false" doc:"IDs of the folders that the change names"`
	Paths   []string      `json:"paths" nullable:"false" doc:"Paths that the change names"`
}

// NamedDevice is a device for a person.
type NamedDevice struct {
	DeviceID string `json:"deviceID" doc:"Of the device"`
	Label    string `json:"label" doc:"Of the device; blank: it has none"`
}

// AnswerConsents is the answer to the changes of a group that a person was shown.
type AnswerConsents struct {
	Digest       *string       `json:"digest" doc:"Of the group"`
	Answer       *string       `json:"answer" enum:"consent,keep,value" doc:"consent: it may be made, once on each device; keep: what is there stays; value: the value that is named is to be there instead"`
	Value        string        `json:"value,omitempty" doc:"With the answer value: one of the names in choices"`
	Shown        []ShownChange `json:"shown" nullable:"false" doc:"The changes that the person was shown: the answer is recorded for each that still waits as it was shown"`
	WholeRollout bool          `json:"wholeRollout,omitempty" doc:"Also for equal changes of all other members of the rollout, which were not shown; needs rollout"`
	Rollout      int64         `json:"rollout,omitempty" doc:"Rollout that wholeRollout is about"`
}

// ShownChange is a change that a person was shown.
type ShownChange struct {
	DeviceID string `json:"deviceID" doc:"Of the device"`
	Digest   string `json:"digest" doc:"Of the change, as changes[].digest has it"`
}

// AnsweredConsents says what was recorded.
type AnsweredConsents struct {
	Digest   string        `json:"digest" doc:"Of the change, as it was shown"`
	Key      string        `json:"key" doc:"Key that changes"`
	Answer   string        `json:"answer" enum:"consent,keep,value" doc:"What the person chose"`
	Value    string        `json:"value,omitempty" doc:"With the answer value: its name"`
	Rollout  int64         `json:"rollout" doc:"Whose other members use the answer for equal changes; 0: only what was shown is answered"`
	NotShown int           `json:"notShown" doc:"Members of that rollout of which no change was shown"`
	Devices  []NamedDevice `json:"devices" nullable:"false" doc:"Devices for which a change is answered"`
	Changes  []AnsweredKey `json:"changes" nullable:"false" doc:"Changes that are answered"`
	Waiting  []AnsweredKey `json:"waiting" nullable:"false" doc:"Changes of the group that still wait: they came after the list was read, or have changed since"`
	Gone     []string      `json:"gone" nullable:"false" doc:"IDs of devices that were shown and were deleted meanwhile: nothing is recorded for them"`
	Next     string        `json:"next" doc:"What happens next, for a person"`
}

// AnsweredKey is a change in the reply to an answer.
type AnsweredKey struct {
	DeviceID string `json:"deviceID" doc:"Of the device"`
	Label    string `json:"label" doc:"Of the device; blank: it has none"`
	Key      string `json:"key" doc:"Key that changes"`
}

// GivenConsent is an answer that was given for a device, or for a group that the device belongs to.
type GivenConsent struct {
	ID       int64  `json:"id" doc:"Grows with each answer"`
	DeviceID string `json:"deviceID" doc:"Of the device"`
	Label    string `json:"label" doc:"Of the device; blank: it has none"`
	Key      string `json:"key" doc:"Key that changes"`
	Answer   string `json:"answer" enum:"consent,keep,value" doc:"What the person chose"`
	Value    string `json:"value,omitempty" doc:"With the answer value: its name"`
	State    string `json:"state" enum:"open,used,closed" doc:"used: sent, or kept as answered; closed: ended unused"`
	Rollout  int64  `json:"rollout" doc:"Whose group the answer was given to; 0 without one"`
	By       string `json:"by" doc:"Name of the user or token that answered"`
	At       Time   `json:"at" format:"date-time" doc:"When it was answered"`
	Until    Time   `json:"until" format:"date-time" doc:"The time in which the device cannot be reached is added"`
	ClosedAt *Time  `json:"closedAt" format:"date-time" nullable:"true" doc:"When it was used or ended; null: it still counts"`
	Intent   int64  `json:"intent" doc:"That used it; 0 without one"`
}
