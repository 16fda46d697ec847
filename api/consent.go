package api

import "encoding/json"

// HeldGroup is equal held changes of several devices: one answer is enough for all of them.
type HeldGroup struct {
	Digest    string          `json:"digest" doc:"Of the change; which registered devices its key and its share lists name does not count"`
	Key       string          `json:"key" doc:"With * in the place of a registered device"`
	From      json.RawMessage `json:"from" doc:"Any JSON; null when the key is not there. Of one of the devices"`
	To        json.RawMessage `json:"to" doc:"Any JSON; null when the key goes away"`
	Answers   []string        `json:"answers" nullable:"false" enum:"consent,keep" doc:"Those that can be given"`
	Role      string          `json:"role" enum:"operator,admin" doc:"That consent needs; keep needs operator"`
	Reason    string          `json:"reason" doc:"Why it waits, for a person. Of one of the devices"`
	Templates []int64         `json:"templates" nullable:"false" doc:"The templates that ask for it; none where it returns to what it was"`
	Rollout   int64           `json:"rollout" doc:"That speaks for the devices; 0 without one"`
	Devices   []NamedDevice   `json:"devices" nullable:"false" doc:"That have the change now, by ID"`
}

// NamedDevice is a device for a person.
type NamedDevice struct {
	DeviceID string `json:"deviceID"`
	Label    string `json:"label"`
}

// AnswerConsents is the answer to equal held changes. Rollout, template and devices narrow down whose.
type AnswerConsents struct {
	Digest   *string  `json:"digest" doc:"Of the group; when no device has it now, nothing is done"`
	Answer   *string  `json:"answer" enum:"consent,keep" doc:"consent: it may be made, once on each device; keep: what is there stays"`
	Rollout  int64    `json:"rollout,omitempty" doc:"For its members, also for those that get the change later"`
	Template int64    `json:"template,omitempty" doc:"Only where this template asks for the change"`
	Devices  []string `json:"devices,omitempty" nullable:"false" doc:"Only for these"`
}

// AnsweredConsents says what was recorded.
type AnsweredConsents struct {
	Digest  string        `json:"digest"`
	Key     string        `json:"key"`
	Answer  string        `json:"answer" enum:"consent,keep"`
	Rollout int64         `json:"rollout" doc:"Whose later members use the answer too; 0: it is for the devices only"`
	Devices []NamedDevice `json:"devices" nullable:"false" doc:"That have the change now"`
	Next    string        `json:"next" doc:"What happens next, for a person"`
}

// GivenConsent is an answer that was given for a device, or for a group that the device belongs to.
type GivenConsent struct {
	ID       int64  `json:"id"`
	DeviceID string `json:"deviceID"`
	Label    string `json:"label"`
	Key      string `json:"key"`
	Answer   string `json:"answer" enum:"consent,keep"`
	State    string `json:"state" enum:"open,used,closed" doc:"used: sent, or kept as answered; closed: ended unused"`
	Rollout  int64  `json:"rollout" doc:"Whose group the answer was given to; 0 without one"`
	By       string `json:"by"`
	At       Time   `json:"at" format:"date-time"`
	Until    Time   `json:"until" format:"date-time" doc:"The time in which the device cannot be reached is added"`
	ClosedAt *Time  `json:"closedAt" format:"date-time" nullable:"true"`
	Intent   int64  `json:"intent" doc:"That used it; 0 without one"`
}
