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

// Ending is what became of an intent, and what is recorded along with that.
type Ending struct {
	Outcome Outcome
	Detail  string      // for a person; no secrets
	Read    string      // digest of the configuration that was read back; "" where none was
	Base    []BaseEntry // of the device from now on
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
