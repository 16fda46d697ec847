package fleet

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// The text that replaces a secret in a configuration from an agent with --observe.
const (
	hiddenBegin = "[hidden by the agent: "
	hiddenEnd   = "]"
	hiddenBytes = 16
)

// Hidden returns the text that replaces a secret. Different secrets give different texts. Without the key, which never
// leaves the agent's machine, the text reveals nothing about the secret.
func Hidden(key []byte, secret string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(secret))
	return hiddenBegin + hex.EncodeToString(mac.Sum(nil)[:hiddenBytes]) + hiddenEnd
}

// IsHidden reports whether a text replaces a secret. Such a text is never written to a daemon.
func IsHidden(text string) bool {
	return strings.HasPrefix(text, hiddenBegin) && strings.HasSuffix(text, hiddenEnd)
}
