// Package seal encrypts the secrets that Muster stores: API keys of daemons, their configurations, named secrets. Each
// sealed value is bound to its place (table, row, column), so it cannot be moved to another place. The package does
// not decide what is secret, and stores nothing but the key.
package seal

import (
	"bytes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"

	"golang.org/x/crypto/chacha20poly1305"

	"muster/internal/fleet"
)

// KeyBytes is the length of a seal key.
const KeyBytes = chacha20poly1305.KeySize

// The parts of a sealed value, in order: a format byte, a key ID of eight bytes, the nonce, the ciphertext with its
// tag.
const (
	format    = 1
	keyIDLen  = 8
	headerLen = 1 + keyIDLen + chacha20poly1305.NonceSizeX
)

// Key seals and opens values. It is safe for concurrent use.
type Key struct {
	aead   cipher.AEAD
	id     [keyIDLen]byte
	secret []byte
}

// New makes a Key of 32 bytes.
func New(key []byte) (*Key, error) {
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return nil, &fleet.Error{Code: fleet.CodeInvalid, During: "use seal key", Message: fmt.Sprintf(
			"a seal key has %d bytes, this one has %d", KeyBytes, len(key)), Err: err}
	}
	digest := sha256.Sum256(append([]byte("muster seal key id\x00"), key...))
	return &Key{aead: aead, id: [keyIDLen]byte(digest[:keyIDLen]), secret: bytes.Clone(key)}, nil
}

// Parse parses a key: 64 hexadecimal digits, or 32 bytes in base64.
func Parse(text string) (*Key, error) {
	text = strings.TrimSpace(text)
	for _, decode := range []func(string) ([]byte, error){
		hex.DecodeString, base64.StdEncoding.DecodeString, base64.RawURLEncoding.DecodeString,
	} {
		if key, err := decode(text); err == nil && len(key) == KeyBytes {
			return New(key)
		}
	}
	return nil, &fleet.Error{
		Code: fleet.CodeInvalid, During: "read seal key",
		Message: "this is no seal key: 64 hexadecimal digits, or base64 of 32 bytes",
		Hint:    "Make one with `openssl rand -hex 32`, or take the content of the seal.key that made the database.",
	}
}

// Random makes a Key of random bytes.
func Random() *Key {
	random := make([]byte, KeyBytes)
	_, _ = rand.Read(random) // never fails; Go ends the process instead
	key, err := New(random)
	if err != nil { // impossible, because the length is right
		panic(err)
	}
	return key
}

// text returns the key in a form that Parse parses.
func (k *Key) text() string { return hex.EncodeToString(k.secret) }

// ID identifies the key without revealing it.
func (k *Key) ID() string { return hex.EncodeToString(k.id[:]) }

// Seal encrypts plain and binds it to its place.
func (k *Key) Seal(table, row, column string, plain []byte) []byte {
	sealed := make([]byte, headerLen, headerLen+len(plain)+k.aead.Overhead())
	sealed[0] = format
	copy(sealed[1:], k.id[:])
	nonce := sealed[1+keyIDLen : headerLen]
	_, _ = rand.Read(nonce) // never fails; Go ends the process instead
	return k.aead.Seal(sealed, nonce, plain, place(sealed[:1+keyIDLen], table, row, column))
}

// Current reports whether a value was sealed with this key.
func (k *Key) Current(sealed []byte) bool { return keyIDOf(sealed) == k.ID() }

// keyIDOf returns the ID of the key that sealed a value, or "" when the value is not sealed.
func keyIDOf(sealed []byte) string {
	if len(sealed) < headerLen || sealed[0] != format {
		return ""
	}
	return hex.EncodeToString(sealed[1 : 1+keyIDLen])
}

// Open decrypts a value that Seal made for the same place with the same key.
func (k *Key) Open(table, row, column string, sealed []byte) ([]byte, error) {
	during := fmt.Sprintf("open %s.%s", table, column)
	id := keyIDOf(sealed)
	if id == "" {
		return nil, &fleet.Error{Code: fleet.CodeInternal, During: during,
			Message: "this was not sealed by this version of Muster"}
	}
	if id != k.ID() {
		return nil, &fleet.Error{
			Code: fleet.CodeConflict, During: during,
			Message: fmt.Sprintf("the seal key does not fit: it is key %s, this was sealed with key %s", k.ID(), id),
			Hint:    "Start Muster with the seal.key (or the key in the environment) that made this database.",
		}
	}
	plain, err := k.aead.Open([]byte{}, sealed[1+keyIDLen:headerLen], sealed[headerLen:],
		place(sealed[:1+keyIDLen], table, row, column))
	if err != nil {
		return nil, &fleet.Error{Code: fleet.CodeInternal, During: during,
			Message: "a sealed value is damaged or not in its place", Err: err}
	}
	return plain, nil
}

// place returns the associated data of the cipher: the header, and each name with its length, so that two places never
// give equal bytes.
func place(header []byte, names ...string) []byte {
	data := append([]byte(nil), header...)
	for _, name := range names {
		data = binary.AppendUvarint(data, uint64(len(name)))
		data = append(data, name...)
	}
	return data
}
