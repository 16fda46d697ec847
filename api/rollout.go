package api

// Rollout brings the devices that an accepted change affects to what it asks, wave by wave.
type Rollout struct {
	ID           int64            `json:"id"`
	Generation   int64            `json:"generation" doc:"That its devices are brought to"`
	Before       int64            `json:"before" doc:"The generation at which devices are that were not admitted yet"`
	Cause        string           `json:"cause" doc:"What was changed, for a person"`
	Status       string           `json:"status" enum:"waiting,running,paused,halted,undoing,undone,succeeded,superseded"`
	Reason       string           `json:"reason" doc:"Why it stands so, for a person"`
	Next         string           `json:"next" doc:"What happens next, or what the person can do"`
	Waves        []int            `json:"waves" nullable:"false" doc:"Devices in each wave; empty before the start"`
	Wave         int              `json:"wave" doc:"The last wave that was admitted, from 1; 0 before the start"`
	Halt         *RolloutHalt     `json:"halt,omitempty" doc:"Only there when it was halted"`
	Blast        string           `json:"blast" doc:"Why its free changes wait for consent too; blank when they do not"`
	Consents     []RolloutConsent `json:"consents" nullable:"false"`
	UndoneBy     int64            `json:"undoneBy" doc:"The generation that took it back; 0 without one"`
	SupersededBy int64            `json:"supersededBy" doc:"The generation of the change that came over it; 0 without one"`
	CreatedAt    Time             `json:"createdAt" format:"date-time"`
	StartedAt    *Time            `json:"startedAt" format:"date-time" nullable:"true"`
	WaveAt       *Time            `json:"waveAt" format:"date-time" nullable:"true" doc:"When the last wave was admitted"`
	EndedAt      *Time            `json:"endedAt" format:"date-time" nullable:"true"`
}

// RolloutHalt says who or what halted a rollout.
type RolloutHalt struct {
	By     string `json:"by" doc:"A token's name; muster for a gate"`
	Gate   string `json:"gate" doc:"api, plan, folders or soak; blank for a person"`
	Device string `json:"device" doc:"At which the gate failed; blank for a person"`
	Saw    string `json:"saw" doc:"What was seen there, for a person"`
	At     Time   `json:"at" format:"date-time"`
}

// RolloutConsent is a person's answer to a held change, for every member that has the same.
type RolloutConsent struct {
	Key  string `json:"key"`
	Keep bool   `json:"keep" doc:"What is there stays; otherwise the change may be made"`
	By   string `json:"by"`
}

// RolloutDetail is a rollout with its members.
type RolloutDetail struct {
	Rollout
	Members []RolloutMember `json:"members" nullable:"false" doc:"In the order of admission, those in no wave last"`
}

// RolloutMember is one device of a rollout.
type RolloutMember struct {
	DeviceID string   `json:"deviceID"`
	Label    string   `json:"label" doc:"Blank when the device is registered no more"`
	Wave     int      `json:"wave" doc:"From 1; 0: in no wave, because it could not be reached or written to at the start"`
	State    string   `json:"state" enum:"later,absent,admitted,held,good,failed"`
	Reason   string   `json:"reason"`
	Was      string   `json:"was" doc:"Configuration state at the start"`
	Errors   []string `json:"errors" nullable:"false" doc:"Folders in error at the start"`
	Waived   bool     `json:"waived" doc:"A person resumed the rollout although this device failed a gate"`
}

// RolloutAnswered is what came of a consent for a rollout.
type RolloutAnswered struct {
	Rollout RolloutDetail `json:"rollout"`
	Devices []string      `json:"devices" nullable:"false" doc:"Those that have the same held changes now; members of later waves follow"`
}
