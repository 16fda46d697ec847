package api

import "encoding/json"

// Revision is one configuration that a device was seen with.
type Revision struct {
	Number int64  `json:"number" doc:"From 1"`
	Digest string `json:"digest" doc:"Of the configuration"`
	Cause  string `json:"cause" doc:"template, daemon (a person at the daemon), restore, accept (of something pending); blank when not known"`
	SeenAt Time   `json:"seenAt" format:"date-time" doc:"When it was first seen"`
}

// RevisionDetail is a revision with its configuration.
type RevisionDetail struct {
	Revision
	Config json.RawMessage `json:"config" doc:"The whole configuration, secrets masked"`
}

// RevisionDiff are the changes from one revision to another.
type RevisionDiff struct {
	From    int64       `json:"from" doc:"Number of the older revision"`
	To      int64       `json:"to" doc:"Number of the newer revision"`
	Changes []KeyChange `json:"changes" nullable:"false" doc:"By key, secrets masked"`
}

// Restore is the body of a POST of a restore. An empty object restores everything.
type Restore struct {
	Section *string  `json:"section,omitempty" doc:"options, gui, folders, ... or a key below, like folders.photos; blank is everything"`
	Digest  *string  `json:"digest,omitempty" doc:"Of the plan that a preview or an earlier restore gave; needed with consent. 409 where the restore would change something else by now"`
	Consent []string `json:"consent,omitempty" nullable:"false" doc:"Keys of held changes that may be made"`
	Preview bool     `json:"preview,omitempty" doc:"Send nothing: the answer is what the restore would change. Its plan's digest, sent with the restore, has another plan refused"`
}

// Restored is the result of a restore.
type Restored struct {
	Plan   Plan            `json:"plan" doc:"What it changes. While one of its changes is held, nothing is sent"`
	Done   bool            `json:"done" doc:"It was sent and read back"`
	Left   []PlannedChange `json:"left" nullable:"false" doc:"What is not restored, with the reason"`
	Reason string          `json:"reason" doc:"For a person"`
	Next   string          `json:"next" doc:"What the person can do"`
}
