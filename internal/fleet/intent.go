package fleet

import "time"

// Intent is a change to one daemon. It is stored before the first byte is sent. Its Outcome is stored after the
// configuration was read back.
type Intent struct {
	ID         int64 // assigned by the store
	Device     DeviceID
	Generation int64
	PlanDigest string
	Observed   string // digest of the configuration it was planned from
	Cause      string // cause of the resulting revision; "" means CauseTemplate
	Writes     []byte // JSON of the planned writes; may contain secrets, so it is sealed in the database
	Outcome    Outcome
	Detail     string // sentence for a person; no secrets
	CreatedAt  time.Time
	FinishedAt time.Time
}

// Ending is the outcome of an intent, with what is stored together with it.
type Ending struct {
	Outcome Outcome
	Detail  string      // sentence for a person; no secrets
	Read    string      // digest of the configuration that was read back; "" when none was
	Base    []BaseEntry // the device's base entries from now on
}

// Outcome says how an intent ended.
type Outcome string

const (
	OutcomeOpen      Outcome = ""          // unknown: read the configuration before sending anything again
	OutcomeApplied   Outcome = "applied"   // read back, and a plan made from it is empty
	OutcomePartial   Outcome = "partial"   // read back, and something is still missing
	OutcomeRejected  Outcome = "rejected"  // the daemon answered 4xx
	OutcomeAbandoned Outcome = "abandoned" // it was not sent, or a newer observation superseded it
)
