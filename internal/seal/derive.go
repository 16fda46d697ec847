package seal

import (
	"crypto/hkdf"
	"crypto/sha256"
)

// Derive is a key of 32 bytes for one purpose. It says nothing about the seal key, and differs for every purpose.
func (k *Key) Derive(purpose string) ([]byte, error) {
	return hkdf.Key(sha256.New, k.secret, nil, "muster "+purpose, KeyBytes)
}
