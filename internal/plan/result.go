package plan

import "muster/internal/fleet"

// Effect is what another registry would do to one device.
type Effect struct {
	Device fleet.DeviceID
	Brings []Change // that would be planned and are not now
	Drops  []Change // that are planned now and would not be
	Unread bool     // the configuration was never read, so there is nothing to compare with
	Err    error    // why no plan could be made under the other registry; the device would be failed
}

// RestoreRequest says what to restore of a revision.
type RestoreRequest struct {
	Section string   // a section or a key in it, like "options" or "folders.photos"; "" is everything
	Digest  string   // of the plan that the person saw; needed with Consent
	Consent []string // keys of held changes that may go out
}

// Restored is the result of a restore.
type Restored struct {
	Plan   Plan     // what it changes; as a whole it waits while one of its changes waits for consent
	Done   bool     // it was sent and read back
	Left   []Change // what is not restored, with the reason
	Reason string   // for a person
	Next   string   // what the person can do
}
