package fleet

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// EnrollKeyPrefix makes an enrol key recognisable, to people and to scanners for leaked secrets.
	EnrollKeyPrefix = "muster_enroll_"

	// DefaultEnrollKeyLife is how long an enrol key is valid, unless the admin gives another time.
	DefaultEnrollKeyLife = 24 * time.Hour
	// MaxEnrollKeyLife is the longest life of an enrol key.
	MaxEnrollKeyLife = 366 * 24 * time.Hour
	// MaxEnrollKeyUses bounds how many devices one key registers.
	MaxEnrollKeyUses = 100_000
	// MaxEnrollKeyTags bounds the tags of one key.
	MaxEnrollKeyTags = 64

	enrollKeyIDBytes   = 8  // of the text of a key, after the prefix: shown in lists
	enrollKeyTextBytes = 52 // after the prefix
)

// EnrollKey registers devices that are not registered yet, and can do nothing else. Only the hash of its text is kept.
type EnrollKey struct {
	ID         string // the beginning of its text, after the prefix
	Hash       string // SHA-256 of its text, hex
	Tags       []Tag  // sorted: those of each device that it registers
	Uses       int    // how many devices it registers
	Used       int    // how many it has registered
	CreatedBy  string
	CreatedAt  time.Time
	ExpiresAt  time.Time
	LastUsedAt time.Time // zero: never
	Altered    bool      // another program wrote its row: it is refused
}

// EnrollKeyID is the ID of the key with a text; ok is false for a text that is no enrol key.
func EnrollKeyID(text string) (id string, ok bool) {
	rest, found := strings.CutPrefix(text, EnrollKeyPrefix)
	if !found || len(rest) != enrollKeyTextBytes {
		return "", false
	}
	return rest[:enrollKeyIDBytes], true
}

// EnrollKeyHash is what is kept of the text of a key.
func EnrollKeyHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// enrollKeyActor begins the name of each key in histories. No user and no token has such a name.
const enrollKeyActor = "enroll-key "

// Actor is the name of the key in histories.
func (k EnrollKey) Actor() string { return enrollKeyActor + k.ID }

// Validate checks what an admin asks of a new key, at a time.
func (k EnrollKey) Validate(now time.Time) error {
	switch {
	case k.Uses < 1 || k.Uses > MaxEnrollKeyUses:
		return Invalidf("uses", "uses is a whole number from 1 to %d", MaxEnrollKeyUses)
	case len(k.Tags) > MaxEnrollKeyTags:
		return Invalidf("tags", "an enrol key has at most %d tags", MaxEnrollKeyTags)
	case !now.Before(k.ExpiresAt) || k.ExpiresAt.After(now.Add(MaxEnrollKeyLife)):
		return Invalidf("expiresInS", "an enrol key expires within %d days", MaxEnrollKeyLife/(24*time.Hour))
	}
	for _, tag := range k.Tags {
		if _, err := ParseTag(string(tag)); err != nil {
			return err
		}
	}
	return nil
}

// Usable is the error about a key that registers no device, at a time; nil where it registers another one.
func (k EnrollKey) Usable(now time.Time) error {
	const another = "Ask an administrator for another key (`muster enroll-key create`), or leave --key out: the " +
		"device then waits until an administrator accepts it."
	refuse := func(format string, args ...any) error {
		return &Error{Code: CodeForbidden, Message: fmt.Sprintf("the enrol key %s… ", k.ID) + fmt.Sprintf(format, args...),
			Hint: another}
	}
	switch {
	case k.Altered:
		return refuse("is not as Muster wrote it into its database, so it is refused")
	case !now.Before(k.ExpiresAt):
		return refuse("expired on %s", k.ExpiresAt.UTC().Format(time.RFC3339))
	case k.Used >= k.Uses:
		return refuse("is used up: it has registered %d of %d devices", k.Used, k.Uses)
	}
	return nil
}

// UnknownEnrollKey is the error about a key that is not known.
func UnknownEnrollKey() error {
	return &Error{Code: CodeForbidden, Message: "this enrol key is not known: it is mistyped, or it was revoked",
		Hint: "Ask an administrator for another key (`muster enroll-key create`), or leave --key out: the device then " +
			"waits until an administrator accepts it."}
}

// ErrRemovedSince is the error about a key that is older than the deletion of the device.
var ErrRemovedSince error = &Error{Code: CodeForbidden,
	Message: "this device was deleted from Muster after the enrol key was made: the key does not register it again",
	Hint:    "Ask an administrator to accept the device: `muster enrollment accept`."}

// ErrDecisionsAltered is the error about a key while it is not known which devices are to be kept out.
var ErrDecisionsAltered error = &Error{Code: CodeForbidden,
	Message: "what was decided about devices was changed in Muster's database: no enrol key registers this device now",
	Hint: "Ask an administrator to accept the device (`muster enrollment accept`), and to look at `muster audit verify`. " +
		"After a restart of the server, keys that are made then register devices again."}

// RejectedEnrollment is the error about a device that an administrator rejected.
func RejectedEnrollment() error {
	return &Error{Code: CodeForbidden, Message: "an administrator rejected this device",
		Hint: "If that was a mistake, ask an administrator to accept it: `muster enrollment accept`."}
}

// EnrollmentStatus is what became of a device that asks to be registered.
type EnrollmentStatus string

const (
	EnrollmentWaiting  EnrollmentStatus = "waiting"  // for an administrator
	EnrollmentRejected EnrollmentStatus = "rejected" // by an administrator
	EnrollmentAccepted EnrollmentStatus = "accepted" // the device is registered
	EnrollmentRefused  EnrollmentStatus = "refused"  // the key is not valid, or too many devices wait
)

// Arrival is an agent that connected. Its device is proven by the certificate of the connection; the rest is what the
// agent tells.
type Arrival struct {
	Device  DeviceID
	Name    string // of its machine
	System  string // GOOS/GOARCH
	Version string // of the agent
	APIPort int
	Address string // IP that it connected from
	Key     Secret // enrol key; zero: none
}

// maxArrivalText bounds each text of an arrival, in bytes.
const maxArrivalText = 256

// Plain is the arrival with texts that are short, of one line, and printable.
func (a Arrival) Plain() Arrival {
	for _, text := range []*string{&a.Name, &a.System, &a.Version, &a.Address} {
		*text = plainLine(*text)
	}
	if a.APIPort < 1 || a.APIPort > 65535 {
		a.APIPort = DefaultAPIPort
	}
	return a
}

func plainLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, text)
	if len(text) > maxArrivalText {
		text = strings.ToValidUTF8(text[:maxArrivalText], "")
	}
	return strings.TrimSpace(text)
}

// EnrollmentAnswer is what an agent is told.
type EnrollmentAnswer struct {
	Status  EnrollmentStatus
	Message string // one sentence for people
	Hint    string // what to do next; may be empty
}

// EnrollmentRequest is a device that asks to be registered, or was rejected.
type EnrollmentRequest struct {
	Arrival   // without key
	Status    EnrollmentStatus
	FirstAt   time.Time
	LastAt    time.Time
	DecidedBy string    // of a rejected one
	DecidedAt time.Time // of a rejected one
}

// EnrollmentCounts are how many devices wait, and the bounds.
type EnrollmentCounts struct {
	Waiting    int // devices
	Most       int // that may wait
	PerAddress int // that may wait from one address
	TurnedAway int // arrivals since the start of the server that found no place
}

// Enrollment registers one device that is not registered yet.
type Enrollment struct {
	Device  Device // the API key may be zero: its agent has it
	Tags    []Tag  // of a device that an administrator accepts
	Pin     string // of the certificate of its API; "": none
	KeyHash string // of the enrol key, whose tags count in the place of Tags; "": an administrator accepts
	Detail  string // for the audit: how it came
}

// EnrollmentDecision is what is kept about a device that is not registered.
type EnrollmentDecision struct {
	Altered  bool               // another program wrote it: what was decided is not known
	Rejected *EnrollmentRequest // nil: it was not rejected
	// RemovedAt is when the device was deleted. Keys that were made before do not register it again.
	RemovedAt time.Time
}

// DeviceClaim is what `muster enroll` on the machine of a daemon tells of it, signed with the device's own key.
type DeviceClaim struct {
	Challenge string  // of the server, for this claim
	Label     string  // of a new device
	APIKey    Secret  // of the daemon
	APIPort   int     // likewise
	Address   *string // IP by which the server reaches the daemon; "": discovery; nil: where the claim comes from
	Pin       string  // of the certificate of the daemon's API; "": it has none yet
}

// ClaimPurpose is what a claim is for.
type ClaimPurpose string

const (
	ClaimEnroll ClaimPurpose = "enroll" // to register the device
	ClaimRenew  ClaimPurpose = "renew"  // to renew the record of a registered device
)

// Statement is what the device signs.
func (c DeviceClaim) Statement(purpose ClaimPurpose) []byte {
	address := ""
	if c.Address != nil {
		address = "=" + *c.Address
	}
	return DeviceStatement(string(purpose), c.Challenge, c.Label, c.APIKey.Reveal(), strconv.Itoa(c.APIPort), address,
		c.Pin)
}

// Renewal is what a registered device says of its own daemon.
type Renewal struct {
	Device     DeviceID
	APIKey     Secret
	APIPort    int
	APIAddress *string // nil: the stored one stays
	Pin        string  // "": the stored one stays
}

// Changes tells whether the record of the device would be another one, or has to be written anew.
func (r Renewal) Changes(is *Registered) bool {
	return is.Altered || is.APIKey != r.APIKey || is.APIPort != r.APIPort ||
		r.APIAddress != nil && is.APIAddress != *r.APIAddress ||
		r.Pin != "" && is.Settings != is.Settings.WithPin(r.Pin)
}
