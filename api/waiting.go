package api

import "encoding/json"

// Waiting is everything that waits for a person, grouped by cause.
type Waiting struct {
	Groups  []WaitingGroup `json:"groups" nullable:"false" doc:"The most severe first, of equal ones those with most devices"`
	Devices int            `json:"devices" doc:"How many devices wait, each counted once"`
}

// WaitingGroup is everything that one answer or one repair solves.
type WaitingGroup struct {
	ID          string          `json:"id" doc:"The same as long as the same waits; GET waiting?group= gives the group with all its devices"`
	Cause       string          `json:"cause" enum:"held,failed,contended,unstable,pinMismatch,identityMismatch,keyRefused,unconfirmed,cloned,broughtBack,pendingDevice,pendingFolder,unreachable,stale,folderStopped,driveMissing,diskNearlyFull,atRisk,failedItems,stalled,alone,disagree,outOfSync,localChanges,conflicts,enrollment,rolloutHalted,rolloutPaused,rolloutApproval,stop,impairment,receiver" doc:"What kind of trouble it is"`
	Severity    string          `json:"severity" enum:"critical,warning,info" doc:"How bad it is"`
	Subject     string          `json:"subject" doc:"What it is about, in a few words: a key, a rollout, a part of the service; blank where the cause says it"`
	Reason      string          `json:"reason" doc:"Why it waits, for a person"`
	Next        string          `json:"next" doc:"What a person can do"`
	Since       *Time           `json:"since" format:"date-time" nullable:"true" doc:"Of the device that waits longest; null where it is not known"`
	From        json.RawMessage `json:"from" doc:"Any JSON; null without a difference, and where it differs from device to device"`
	To          json.RawMessage `json:"to" doc:"Any JSON; null without a difference, where it differs from device to device, or when the key goes away"`
	Summary     *Summary        `json:"summary,omitempty" doc:"What an answer would let out on all its devices, in sentences; absent where no change is held"`
	Rollout     int64           `json:"rollout" doc:"That it is about; 0 without one"`
	Templates   []int64         `json:"templates" nullable:"false" doc:"That ask for it"`
	DeviceCount int             `json:"deviceCount" doc:"How many devices wait for it; 0: it is about no device"`
	Devices     []WaitingDevice `json:"devices" nullable:"false" doc:"The first 10 by label, or all of them where the group was asked for"`
	Actions     []WaitingAction `json:"actions" nullable:"false" doc:"That solve it, the usual one first; none where it is solved elsewhere"`
}

// WaitingDevice is a device of a group.
type WaitingDevice struct {
	DeviceID string            `json:"deviceID" doc:"Of the device"`
	Label    string            `json:"label" doc:"Of the device; blank: it has none"`
	Detail   string            `json:"detail" doc:"What differs from device to device, for a person; mostly blank"`
	Values   map[string]string `json:"values" doc:"For the placeholders of actions: deviceID, and what else an action needs"`
	Held     []HeldChange      `json:"held" nullable:"false" doc:"The changes that are held there; none in groups of other causes"`
}

// WaitingAction is a request that solves what waits.
type WaitingAction struct {
	Name    string          `json:"name" enum:"consent,keep,value,consentRollout,keepRollout,valueRollout,trust,accept,dismiss,apply,approve,resume,undo,halt,on" doc:"What it does, in a word"`
	Method  string          `json:"method" enum:"POST,PUT,DELETE" doc:"Of the request"`
	Path    string          `json:"path" doc:"May hold placeholders: {name} is a value of the device, or an answer"`
	Body    json.RawMessage `json:"body" doc:"Any JSON; its texts may hold placeholders. null: without a body"`
	Role    string          `json:"role" enum:"operator,author,admin" doc:"That it needs, or higher"`
	Each    bool            `json:"each" doc:"One request for each device; else one for the group"`
	Ask     []string        `json:"ask" nullable:"false" doc:"Placeholders that a person has to answer"`
	Shown   bool            `json:"shown" doc:"A client that answers puts the changes that were shown into shown of the body: deviceID and digest of devices[].held"`
	Removes bool            `json:"removes" doc:"It removes a folder or a device: ask before"`
	Choice  *Choice         `json:"choice,omitempty" doc:"The value that the answer names"`
	Command string          `json:"command" doc:"The same on the command line, for one device where it is for each"`
}
