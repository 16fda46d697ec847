package plan

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Digest returns a text that differs for two changes of one key with different values, and does not show the values.
func (c Change) Digest() string { return ValueDigest(c.From) + ValueDigest(c.Sending()) }

// ValueDigest returns a text that differs for different values and does not show them.
func ValueDigest(v stconfig.Value) string {
	if !v.Exists() {
		return "absent"
	}
	sum := sha256.New()
	stconfig.Normalise(v).WriteJSON(sum)
	return string(sum.Sum(nil))
}

// Wish identifies what a change asks for: its key and the value after it. If two changes of one device have the same
// Wish, they ask for the same, even if different reasons hold them back.
type Wish [sha256.Size]byte

// Wish returns the Wish of the change.
func (c Change) Wish() Wish {
	h := sha256.New()
	fmt.Fprintf(h, "%s ", c.Key)
	if to := c.Sending(); to.Exists() {
		stconfig.Normalise(to).WriteJSON(h)
	}
	return Wish(h.Sum(nil))
}

// ConsentDigest identifies the change that a person consents to. It is stored, so it is keyed: nobody can check a
// guessed secret against it. Fields that have the daemon's own default do not count, because they come and go with
// the daemon's version.
func (c Change) ConsentDigest(id fleet.DeviceID, key []byte) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("consent " + string(id) + " " + c.Key.String() + " "))
	for _, v := range []stconfig.Value{c.From, c.Sending()} {
		h.Write([]byte(ValueDigest(stconfig.WithoutDefaults(c.Key, v))))
	}
	if c.copies != "" { // Who consented to fewer copies consented to this number.
		h.Write([]byte(" copies " + c.copies))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// digest identifies the plan. It is keyed with the daemon's API key, so that nobody can check a guessed secret
// against it.
func (p Plan) digest(observed stconfig.Value) string {
	h := hmac.New(sha256.New, []byte(observed.Get("gui").Get("apiKey").Str()))
	fmt.Fprintf(h, "%s %s\n", p.Device, p.Observed)
	for _, c := range p.Changes {
		fmt.Fprintf(h, "%s %q %q %q\n", c.Class, c.Key.String(), c.grounds(), c.copies)
		if c.send.Exists() { // p.Observed covers the values before the change.
			c.send.WriteJSON(h)
		}
		h.Write([]byte{'\n'})
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Keyed returns a digest of the Wish that may be stored. It is keyed, because the Wish may contain a secret that
// somebody could otherwise guess.
func (w Wish) Keyed(key []byte) string {
	h := hmac.New(sha256.New, key)
	fmt.Fprintf(h, "wish %x", w)
	return hex.EncodeToString(h.Sum(nil))
}
