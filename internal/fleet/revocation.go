package fleet

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Revocation says that a device is out for good: Muster takes it off every managed daemon, each time that it is
// there, and writes nothing to its own daemon. It is about a device ID, so it stays when the device is deleted.
type Revocation struct {
	Device DeviceID
	Label  string // label of the device when it was revoked; "": it had none
	Reason string // text for people; may be blank
	By     string
	At     time.Time
}

// MaxReasonBytes bounds the reason of a revocation.
const MaxReasonBytes = 1 << 10

// Validate checks what a person says about the revocation.
func (r Revocation) Validate() error {
	if _, err := ParseDeviceID(string(r.Device)); err != nil {
		return err
	}
	if len(r.Reason) > MaxReasonBytes || !plainText(r.Reason) || strings.ContainsFunc(r.Reason, unicode.IsControl) {
		return Invalidf("reason", "a reason is one line of at most %d bytes", MaxReasonBytes)
	}
	return nil
}

// Since tells since when the device is revoked. It is for people who may not see the device, too: who revoked it, and
// why, is only for those who do.
func (r Revocation) Since() string {
	if r.At.IsZero() { // It is zero while the revocation is only planned.
		return "revoked"
	}
	return "revoked on " + r.At.UTC().Format(time.DateOnly)
}

// Why tells since when the device is revoked, by whom, and for what reason.
func (r Revocation) Why() string {
	text := r.Since()
	if r.By != "" {
		text += " by " + r.By
	}
	if r.Reason != "" {
		text += fmt.Sprintf(" (%s)", r.Reason)
	}
	return text
}

// Refusal is the answer to the device itself, and to a person who wants to let it in.
func (r Revocation) Refusal() error {
	return &Error{Code: CodeForbidden, Message: "device " + r.Device.Short() + " is revoked",
		Hint: r.HowToEnd()}
}

// RevokedAlready is the answer to who revokes the device again: the first revocation stands, with its reason.
func (r Revocation) RevokedAlready() error {
	return &Error{Code: CodeConflict,
		Message: "device " + r.Device.Short() + " is revoked already" + strings.TrimPrefix(r.Why(), "revoked"),
		Hint:    "Nothing was changed. To give another reason, end the revocation first: `" + r.Ended() + "`."}
}

// HowToEnd tells a person how the revocation ends.
func (r Revocation) HowToEnd() string {
	return "An admin ends the revocation with `" + r.Ended() + "`."
}

// Ended is the command with which an admin ends the revocation. It has the short ID, because texts for people have
// names in the place of whole IDs.
func (r Revocation) Ended() string { return "muster revocation delete " + r.Device.Short() }

// IsRevoked reports whether the device is out for good.
func (r *Registry) IsRevoked(id DeviceID) bool {
	_, revoked := r.Revocations[id]
	return revoked
}

// RevokedOn gives the devices that a device's daemon may not have, sorted. A daemon keeps its own entry.
func (r *Registry) RevokedOn(id DeviceID) []DeviceID {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(r.Revocations)), func(other DeviceID) bool { return other == id })
}

// changeRevocations revokes devices, and ends revocations.
func (r *Registry) changeRevocations(edit Edit) error {
	if len(edit.Revoke)+len(edit.Readmit) == 0 {
		return nil
	}
	revocations := map[DeviceID]Revocation{}
	maps.Copy(revocations, r.Revocations)
	for _, one := range edit.Revoke {
		if was, revoked := revocations[one.Device]; revoked {
			return was.RevokedAlready()
		}
		revocations[one.Device] = one
	}
	for _, id := range edit.Readmit {
		if _, revoked := revocations[id]; !revoked {
			return NotRevoked(id)
		}
		delete(revocations, id)
	}
	r.Revocations = revocations
	return nil
}

// NotRevoked is the error for a device that has no revocation.
func NotRevoked(id DeviceID) error {
	return &Error{Code: CodeNotFound, Message: fmt.Sprintf("device %s is not revoked", id),
		Hint: "`muster revocation list` shows the devices that are."}
}
