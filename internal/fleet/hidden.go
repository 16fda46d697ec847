package fleet

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// What stands in a configuration in place of a secret that an agent with --observe keeps to itself.
const (
	hiddenBegin = "[hidden by the agent: "
	hiddenEnd   = "]"
	hiddenBytes = 16
)

// Hidden is what an agent gives in place of a secret. Another secret gives another text, and without the key, which
// does not leave the agent's machine, nothing can be told from it.
func Hidden(key []byte, secret string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(secret))
	return hiddenBegin + hex.EncodeToString(mac.Sum(nil)[:hiddenBytes]) + hiddenEnd
}

// IsHidden tells whether a text stands in place of a secret. It is never written to a daemon.
func IsHidden(text string) bool {
	return strings.HasPrefix(text, hiddenBegin) && strings.HasSuffix(text, hiddenEnd)
}
