package api

import "encoding/json"

// Plan is what would be changed on one device now. It holds only for the configuration that it was made from.
type Plan struct {
	Digest     string          `json:"digest" doc:"Of the plan; give it to apply exactly this"`
	Generation int64           `json:"generation" doc:"Of the templates and tags that it was made from"`
	Changes    []PlannedChange `json:"changes" nullable:"false" doc:"None: nothing is planned"`
	Summary    Summary         `json:"summary" doc:"What would change, in sentences"`
}

// ApplyPlan is the body of a POST of an apply: the digest of the plan that a person saw, and the answers to what is
// held.
type ApplyPlan struct {
	Digest  *string  `json:"digest" doc:"Of the plan that was looked at; when the plan is another by now, nothing is done"`
	Consent []string `json:"consent,omitempty" nullable:"false" doc:"Keys of held changes that may be made this once"`
	Remove  []string `json:"remove,omitempty" nullable:"false" doc:"Keys of folders and devices that may go; as consent, and refused where the change takes nothing away"`
	Keep    []string `json:"keep,omitempty" nullable:"false" doc:"Keys that are to stay as the daemon has them although no template asks for that any more"`
	// Values has a name for each key, one of those in choices of the change.
	Values map[string]string `json:"values,omitempty" doc:"For keys of held changes the name of the value that is to be there instead, one of those in choices of the change"`
}

// Choice is a value that a person may choose by name in an answer to a held change.
type Choice struct {
	Name string `json:"name" doc:"As an answer names it"`
	Does string `json:"does" doc:"What comes of it, for a person"`
}

// AppliedPlan is the result of an apply: the state of the device, and what was done and what was not.
type AppliedPlan struct {
	DeviceState
	Applied []PlannedChange `json:"applied" nullable:"false" doc:"What was sent, and was there when the daemon was read back"`
	Waiting []PlannedChange `json:"waiting" nullable:"false" doc:"What the plan asks for and was not done, each with its reason: also what was consented to and has to wait for something else"`
}

// PlannedChange is one change of a plan.
type PlannedChange struct {
	Key       string          `json:"key" doc:"Key that changes"`
	From      json.RawMessage `json:"from" doc:"Any JSON; null when the key is not there"`
	To        json.RawMessage `json:"to" doc:"Any JSON; null when the key goes away"`
	Templates []int64         `json:"templates" nullable:"false" doc:"The templates that ask for it"`
	Class     string          `json:"class" enum:"free,implied,skipped,held,refused" doc:"What happens with the change"`
	Reason    string          `json:"reason" doc:"Why it is not simply done; blank for free changes"`
	Drift     bool            `json:"drift,omitzero" doc:"It sets right what somebody changed at the daemon; otherwise the templates ask for something new"`
	Returns   bool            `json:"returns,omitzero" doc:"No template asks any more: a person may keep what is there instead"`
	Consented bool            `json:"consented,omitzero" doc:"Held, and a person consented or chose a value: it is made once Muster may write to the device"`
	Answers   []string        `json:"answers,omitempty" nullable:"false" enum:"consent,remove,keep" doc:"What a person may answer, beside the choices; absent where there is nothing to answer"`
	Choices   []Choice        `json:"choices,omitempty" nullable:"false" doc:"Values that a person may choose by name instead; absent without any"`
	Digest    string          `json:"digest,omitempty" doc:"Identifies the change in the answer of an undo; only in the plan of an undo, and only where that answer may cover the change"`
}
