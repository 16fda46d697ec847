package plan

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"muster/internal/fleet"
	"muster/internal/stconfig"
)

// ConsentDigest tells one change of a device from another. It is kept, so it is keyed: no secret can be guessed from
// it. Fields that have the daemon's own default do not count: with an upgrade of the daemon such fields come and go.
func (c Change) ConsentDigest(id fleet.DeviceID, key []byte) string {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("consent " + string(id) + " " + c.Key.String() + " "))
	for _, v := range []stconfig.Value{c.From, c.Sending()} {
		h.Write([]byte(ValueDigest(stconfig.WithoutDefaults(c.Key, v))))
	}
	return hex.EncodeToString(h.Sum(nil))
}

const passwordKey = "gui.password"

// PhraseDigest is kept of a password that is sent, because the daemon keeps a hash of it; nil for any other change.
func (c Change) PhraseDigest(id fleet.DeviceID, key []byte) []byte {
	if c.Key.String() != passwordKey {
		return nil
	}
	return phraseDigest(id, c.Sending().Str(), key)
}

// SamePhrase tells, for an Input, whether a password is the one that was sent when the daemon made a hash.
func SamePhrase(entries []fleet.BaseEntry, id fleet.DeviceID, key []byte) func(text, hash string) bool {
	return func(text, hash string) bool {
		for _, entry := range entries {
			isThere := entry.State == fleet.BaseOurs || entry.Run != ""
			if entry.Key == passwordKey && isThere && len(entry.Sent) > 0 {
				return string(entry.Written) == string(stconfig.Text(hash).JSON()) &&
					hmac.Equal(entry.Sent, phraseDigest(id, text, key))
			}
		}
		return false
	}
}

func phraseDigest(id fleet.DeviceID, text string, key []byte) []byte {
	h := hmac.New(sha256.New, key)
	fmt.Fprintf(h, "gui.password %s %s", id, text)
	return h.Sum(nil)
}
