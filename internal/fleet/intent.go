package fleet

import "time"

// Intent is a change to one daemon, recorded before the first byte is sent. Outcome is recorded after reading back.
type Intent struct {
	ID         int64 // assigned by the store
	Device     DeviceID
	Generation int64
	PlanDigest string
	Observed   string // digest of the configuration it was planned from
	Cause      string // of the revision that it makes: CauseTemplate when blank
	Writes     []byte // JSON of the planned writes, sealed at rest: may hold secrets
	Outcome    Outcome
	Detail     string // for a person; no secrets
	CreatedAt  time.Time
	FinishedAt time.Time
}

// Outcome is what became of an intent.
type Outcome string

const (
	OutcomeOpen      Outcome = ""          // not known yet: verify, do not repeat blindly
	OutcomeApplied   Outcome = "applied"   // read back, and a plan made from it is empty
	OutcomePartial   Outcome = "partial"   // read back, and something is still missing
	OutcomeRejected  Outcome = "rejected"  // the daemon answered 4xx
	OutcomeAbandoned Outcome = "abandoned" // not sent, or superseded by a newer observation
)

// BaseEntry is one key that Muster wrote on one device: a leaf, or a member of an identified list. While the daemon has
// Written there, the base of the key is Base; anything else there was written by a person and is the new base. Base,
// Written and Intended may hold secrets: sealed at rest, never logged. The store keeps the entries of a device as one
// set that is replaced as a whole.
type BaseEntry struct {
	Key       string
	Base      []byte  // JSON; nil when the key was absent
	Written   []byte  // JSON as read back from the daemon; nil when Muster removed the key
	Templates []int64 // that asked for it
	State     BaseState
	Intended  []byte // JSON of what an open intent sends, nil when it removes the key; only in BaseSending
	Implied   bool   // a device that a shared folder brought along
	Sent      []byte // keyed digest of the text sent, where the daemon keeps something else: a hash of gui.password
}

// BaseState is whose value stands at the key of a BaseEntry.
type BaseState string

const (
	BaseOurs    BaseState = ""        // Written is what Muster wrote and read back
	BaseSending BaseState = "sending" // an intent is open: Written is what was there before it, Intended what it sends
	BaseTheirs  BaseState = "theirs"  // a person wrote over Written: Base is theirs, whatever it becomes
)
