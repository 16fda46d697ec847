package fleet

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// EnrollmentPolicy says which enrol keys register devices. The zero value allows all that keys can do.
type EnrollmentPolicy struct {
	Off  bool          // No enrol key registers a device.
	Life time.Duration // A key registers devices for so long after it was made, at most; 0: until its own end.
	Uses int           // A key registers so many devices, at most; 0: as many as it says.
	Tags []Tag         // A key gives no other tags; empty: any tags.
}

// ErrHeldByPolicy is the cause of the errors about enrol keys that the policy lets register no device. The devices wait
// for an administrator.
var ErrHeldByPolicy = errors.New("the enrolment policy")

// Limited returns the key as the policy limits it: its end, its number of devices, and whether it is stopped.
func (p EnrollmentPolicy) Limited(key EnrollKey) EnrollKey {
	if end := key.CreatedAt.Add(p.Life); p.Life > 0 && end.Before(key.ExpiresAt) {
		key.ExpiresAt = end
	}
	if p.Uses > 0 {
		key.Uses = min(key.Uses, p.Uses)
	}
	key.Stopped = p.Off || p.otherTag(key) != ""
	return key
}

// Admits returns an error if the policy lets the key register no device, whatever its end and uses are.
func (p EnrollmentPolicy) Admits(key EnrollKey) error {
	const hint = "Ask an administrator to accept the device: `muster enrollment accept DEVICE`."
	if p.Off {
		return &Error{Code: CodeForbidden, Err: ErrHeldByPolicy, Hint: hint,
			Message: "no device registers itself with an enrol key, as the setting enrollByKey says"}
	}
	if tag := p.otherTag(key); tag != "" {
		return &Error{Code: CodeForbidden, Err: ErrHeldByPolicy, Hint: hint,
			Message: fmt.Sprintf("the enrol key %s… gives the tag %q, which the setting enrollKeyTags does not allow",
				key.ID, tag)}
	}
	return nil
}

// Check refuses a new key that the policy would limit, with an error that names the setting.
func (p EnrollmentPolicy) Check(key EnrollKey) error {
	switch tag := p.otherTag(key); {
	case p.Off:
		return &Error{Code: CodeInvalid, Message: "an enrol key would register no device, as the setting enrollByKey says",
			Hint: "`muster enrollment list` shows the devices that wait for an administrator."}
	case tag != "":
		return Invalidf("tags", "enrol keys may not give the tag %q. The setting enrollKeyTags allows %s", tag,
			joinTags(p.Tags))
	case p.Uses > 0 && key.Uses > p.Uses:
		return Invalidf("uses", "an enrol key registers at most %d devices, as the setting enrollKeyUses says", p.Uses)
	case p.Life > 0 && key.ExpiresAt.Sub(key.CreatedAt) > p.Life:
		return Invalidf("expiresInS", "an enrol key expires within %s, as the setting enrollKeyLife says",
			DurationText(p.Life))
	}
	return nil
}

// otherTag returns the first tag of a key that keys may not give, or "".
func (p EnrollmentPolicy) otherTag(key EnrollKey) Tag {
	if len(p.Tags) == 0 {
		return ""
	}
	for _, tag := range key.Tags {
		if !slices.Contains(p.Tags, tag) {
			return tag
		}
	}
	return ""
}

func joinTags(tags []Tag) string {
	var all []string
	for _, tag := range tags {
		all = append(all, string(tag))
	}
	return strings.Join(all, ", ")
}
