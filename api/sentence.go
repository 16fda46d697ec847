package api

// Summary is what a plan does, in sentences for a person. Each change of each device is counted by exactly one sentence
// or in moreChanges.
type Summary struct {
	Sentences       []Sentence `json:"sentences" nullable:"false" doc:"What may cost most first; at most 50"`
	MoreChanges     int        `json:"moreChanges" doc:"Changes beyond these sentences"`
	MoreDevices     int        `json:"moreDevices" doc:"Devices with changes beyond these sentences"`
	MoreWithoutPlan int        `json:"moreWithoutPlan" doc:"Devices without a plan, beyond these sentences"`
	Removals        int        `json:"removals" doc:"Changes that take a folder, a device, a share, a value or entries of a list away, at once or after an answer"`
	Removal         string     `json:"removal" doc:"The same for a person. It says if devices or values are left out; blank when nothing changes"`
}

// Sentence says what happens on one or more devices. Equal changes are one sentence, unequal ones never.
type Sentence struct {
	Text    string   `json:"text" doc:"The sentence. Secrets are masked, devices have their labels"`
	Subject string   `json:"subject" doc:"What it is about: a folder, a device, or a key"`
	Kind    string   `json:"kind" enum:"failed,unread,removed,added,changed,unplanned" doc:"failed: no plan can be made; unread: the configuration was never read; unplanned: no longer planned"`
	Class   string   `json:"class" doc:"Of its changes; blank if it counts no change"`
	Devices int      `json:"devices" doc:"How many devices it is about"`
	Changes int      `json:"changes" doc:"How many changes the sentence counts; 0 for devices without a plan"`
	Labels  []string `json:"labels" nullable:"false" doc:"Of the first devices, by label; at most 5"`
}
