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
	// EnrollKeyPrefix makes an enrol key recognisable for people and for programs that scan for leaked secrets.
	EnrollKeyPrefix = "muster_enroll_"

	// DefaultEnrollKeyLife is how long an enrol key is valid by default.
	DefaultEnrollKeyLife = 24 * time.Hour
	// MaxEnrollKeyLife is the longest time for which an enrol key may be valid.
	MaxEnrollKeyLife = 366 * 24 * time.Hour
	// MaxEnrollKeyUses is the largest number of devices that one key may register.
	MaxEnrollKeyUses = 100_000
	// MaxEnrollKeyTags is the largest number of tags of one key.
	MaxEnrollKeyTags = 64

	enrollKeyIDBytes   = 8  // bytes after the prefix that are the key's ID, which lists show
	enrollKeyTextBytes = 52 // bytes after the prefix
)

// EnrollKey registers devices, and allows nothing else. Muster stores only the hash of its text.
type EnrollKey struct {
	ID         string // the start of its text, after the prefix
	Hash       string // SHA-256 of its text, hex
	Tags       []Tag  // sorted; each device that the key registers gets them
	Uses       int    // how many devices it may register
	Used       int    // how many it has registered
	CreatedBy  string
	CreatedAt  time.Time
	ExpiresAt  time.Time
	LastUsedAt time.Time // zero: never
	Altered    bool      // another program changed its row, so it is refused
	Stopped    bool      // the enrolment policy lets it register no device
}

// EnrollKeyID returns the ID of a key from its text. ok is false when the text is not an enrol key.
func EnrollKeyID(text string) (id string, ok bool) {
	rest, found := strings.CutPrefix(text, EnrollKeyPrefix)
	if !found || len(rest) != enrollKeyTextBytes {
		return "", false
	}
	return rest[:enrollKeyIDBytes], true
}

// EnrollKeyHash returns the hash that is stored for a key.
func EnrollKeyHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// enrollKeyActor is the prefix of a key's name in histories. Users and tokens cannot have such a name.
const enrollKeyActor = "enroll-key "

// Actor returns the name of the key in histories.
func (k EnrollKey) Actor() string { return enrollKeyActor + k.ID }

// Validate checks the values of a new key at the time now.
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

// EnrollKeyState says whether a key registers devices, and if not, why.
type EnrollKeyState string

const (
	EnrollKeyUsable  EnrollKeyState = "usable"
	EnrollKeyAltered EnrollKeyState = "altered"
	EnrollKeyUsedUp  EnrollKeyState = "usedUp"
	EnrollKeyExpired EnrollKeyState = "expired"
	EnrollKeyStopped EnrollKeyState = "stopped"
)

// State returns the state of the key now. That of a key that is both used up and expired is EnrollKeyUsedUp.
func (k EnrollKey) State(now time.Time) EnrollKeyState {
	switch {
	case k.Altered:
		return EnrollKeyAltered
	case k.Used >= k.Uses:
		return EnrollKeyUsedUp
	case !now.Before(k.ExpiresAt):
		return EnrollKeyExpired
	case k.Stopped:
		return EnrollKeyStopped
	}
	return EnrollKeyUsable
}

// Usable returns an error when the key cannot register a device now.
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

// UnknownEnrollKey returns the error for an unknown key.
func UnknownEnrollKey() error {
	return &Error{Code: CodeForbidden, Message: "this enrol key is not known: it is mistyped, or it was revoked",
		Hint: "Ask an administrator for another key (`muster enroll-key create`), or leave --key out: the device then " +
			"waits until an administrator accepts it."}
}

// ErrRemovedSince is the error for a key that was made before the device was deleted.
var ErrRemovedSince error = &Error{Code: CodeForbidden,
	Message: "this device was deleted from Muster after the enrol key was made: the key does not register it again",
	Hint:    "Ask an administrator to accept the device: `muster enrollment accept DEVICE`."}

// ErrDecisionsAltered is the error for a key while the list of rejected and deleted devices cannot be trusted.
var ErrDecisionsAltered error = &Error{
	Code:    CodeForbidden,
	Message: "what was decided about devices was changed in Muster's database: no enrol key registers this device now",
	Hint: "Ask an administrator to accept the device (`muster enrollment accept DEVICE`), and to look at `muster audit " +
		"verify`. After a restart of the server, keys that are made then register devices again.",
}

// RejectedEnrollment returns the error for a device that an administrator has rejected.
func RejectedEnrollment() error {
	return &Error{Code: CodeForbidden, Message: "an administrator rejected this device",
		Hint: "If that was a mistake, ask an administrator to accept it: `muster enrollment accept DEVICE`."}
}

// EnrollmentStatus is the answer to a device that asks to be registered.
type EnrollmentStatus string

const (
	EnrollmentWaiting  EnrollmentStatus = "waiting"  // an administrator has not decided yet
	EnrollmentRejected EnrollmentStatus = "rejected" // an administrator has rejected it
	EnrollmentAccepted EnrollmentStatus = "accepted" // the device is registered
	EnrollmentRefused  EnrollmentStatus = "refused"  // the key is not valid, or too many devices wait
)

// Arrival is the connection of an agent. The certificate of the connection proves the device; the other fields are
// claims of the agent.
type Arrival struct {
	Device  DeviceID
	Name    string // host name of its machine
	System  string // GOOS/GOARCH
	Version string // version of the agent
	APIPort int
	Address string // IP from which it connected
	Key     Secret // enrol key; zero: no key
}

// maxArrivalText limits each text of an arrival, in bytes.
const maxArrivalText = 256

// Plain returns the arrival with texts that are short, printable and on one line.
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

// EnrollmentAnswer is the answer to an agent.
type EnrollmentAnswer struct {
	Status  EnrollmentStatus
	Message string // sentence for people
	Hint    string // next step for the user of the machine; may be empty
}

// EnrollmentRequest is the request of a device to be registered. It may have been rejected.
type EnrollmentRequest struct {
	Arrival   // its Key is zero
	Status    EnrollmentStatus
	FirstAt   time.Time
	LastAt    time.Time
	DecidedBy string    // set when rejected
	DecidedAt time.Time // set when rejected
}

// EnrollmentCounts says how many devices wait, and the limits.
type EnrollmentCounts struct {
	Waiting    int // devices that wait
	Most       int // how many devices may wait
	PerAddress int // how many may wait from one address
	TurnedAway int // arrivals since the start of the server that were refused because of these limits
}

// Enrollment registers one device.
type Enrollment struct {
	Device  Device // the API key may be zero when the agent knows it
	Tags    []Tag  // tags of the enrol key, or tags that an administrator chose
	Pin     string // fingerprint of the certificate of its API; "": none
	KeyHash string // hash of the enrol key; "": an administrator accepted the device
	// OwnName says that the label is the name that the device tells of itself. Where a device has that label already,
	// the store adds the first free number: "vm-2".
	OwnName bool
	Detail  string           // text for the audit: how the device was enrolled
	Policy  EnrollmentPolicy // What the enrol key may do at most
}

// EnrollmentDecision is what is stored about an unregistered device.
type EnrollmentDecision struct {
	Altered  bool               // another program changed the row, so the decision is unknown
	Rejected *EnrollmentRequest // nil: the device was not rejected
	// RemovedAt is when the device was deleted. Keys that were made before cannot register it again.
	RemovedAt time.Time
}

// DeviceClaim is what `muster enroll` sends about the daemon of its machine, signed with the device's own key.
type DeviceClaim struct {
	Challenge string // the server's random text for this claim
	Label     string // label that the device gets if it is new
	APIKey    Secret // key of the daemon's API
	APIPort   int    // port of the daemon's API
	// IP at which the server reaches the daemon; "": use discovery; nil: the address from which the claim comes
	Address *string
	Pin     string // fingerprint of the API's certificate; "": the daemon has none yet
}

// ClaimPurpose says what a claim is for.
type ClaimPurpose string

const (
	ClaimEnroll ClaimPurpose = "enroll" // registers the device
	ClaimRenew  ClaimPurpose = "renew"  // renews the record of a registered device
)

// Statement returns the bytes that the device signs.
func (c DeviceClaim) Statement(purpose ClaimPurpose) []byte {
	address := ""
	if c.Address != nil {
		address = "=" + *c.Address
	}
	return DeviceStatement(string(purpose), c.Challenge, c.Label, c.APIKey.Reveal(), strconv.Itoa(c.APIPort), address,
		c.Pin)
}

// Renewal is what a registered device reports about its own daemon.
type Renewal struct {
	Device     DeviceID
	APIKey     Secret
	APIPort    int
	APIAddress *string // nil: the stored one stays
	Pin        string  // "": the stored one stays
}

// Changes reports whether the renewal changes the device's record, or whether the record must be written again.
func (r Renewal) Changes(is *Registered) bool {
	return is.Altered || is.APIKey != r.APIKey || is.APIPort != r.APIPort ||
		r.APIAddress != nil && is.APIAddress != *r.APIAddress ||
		r.Pin != "" && is.Settings != is.Settings.WithPin(r.Pin)
}
