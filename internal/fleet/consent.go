package fleet

import "time"

// Consent is a person's answer to a change that waits for one.
type Consent struct {
	ID     int64 // assigned by the store
	Device DeviceID
	Key    string
	Answer Answer
	Change string // keyed digest of the change: the answer is to no other
	By     string
	At     time.Time
	Until  time.Time // from then on it may not be used
}

// Answer is what a person says of a held change.
type Answer string

const (
	AnswerConsent Answer = "consent" // it may be made, once
	AnswerKeep    Answer = "keep"    // what is there stays: it is the base
)
