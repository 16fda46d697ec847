package api

// RecentChange is one write of a person or token, or equal writes of one moment.
type RecentChange struct {
	At    Time         `json:"at" format:"date-time" doc:"Of the newest write"`
	Since Time         `json:"since" format:"date-time" doc:"Of the oldest write"`
	Who   string       `json:"who" doc:"The name of the token or user"`
	Title string       `json:"title" doc:"What the change is for, as the person wrote it; blank where they wrote nothing"`
	Parts []ChangePart `json:"parts" nullable:"false" doc:"What was done, by kind"`
	More  bool         `json:"more" doc:"There are more equal writes than were counted"`

	Rollout  int64 `json:"rollout" doc:"That brings it to devices; of several writes that of the newest. 0: none"`
	Undoable bool  `json:"undoable" doc:"POST rollouts/{rolloutID}/undo takes it back, with whatever else the rollout brings"`
}

// ChangePart is one kind of act in a change.
type ChangePart struct {
	What    string `json:"what" doc:"As in the audit: device.create, template.replace, ..."`
	Text    string `json:"text" doc:"For a person: device created, 2,000 devices created"`
	Count   int    `json:"count" doc:"On how many subjects"`
	Subject string `json:"subject" doc:"What it was done to; the newest of several"`
	Detail  string `json:"detail" doc:"For a person; of the newest of several"`
}
