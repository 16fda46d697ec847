package seal

import (
	"crypto/hkdf"
	"crypto/sha256"
)

// Derive returns a key of 32 bytes for one purpose. Each purpose gets its own key, always the same for the same seal
// key, and a derived key reveals nothing about the seal key.
func (k *Key) Derive(purpose string) ([]byte, error) {
	return hkdf.Key(sha256.New, k.secret, nil, "muster "+purpose, KeyBytes)
}
