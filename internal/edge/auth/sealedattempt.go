package auth

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"

	"golang.org/x/crypto/chacha20poly1305"
)

// sealAttempt returns an attempt to log in as a sealed text. The client that began the log-in keeps the text, so that
// the server does not have to remember the attempt. A text can be opened only with the kind with which it was sealed.
func sealAttempt(key []byte, kind string, attempt any) (string, error) {
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return "", err
	}
	plain, err := json.Marshal(attempt)
	if err != nil {
		return "", err
	}
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(plain)+aead.Overhead())
	rand.Read(nonce)
	return base64.RawURLEncoding.EncodeToString(aead.Seal(nonce, nonce, plain, []byte(kind))), nil
}

// openAttempt opens a text that sealAttempt returned, into attempt. It returns false for any other text.
func openAttempt(key []byte, kind, text string, attempt any) bool {
	aead, err := chacha20poly1305.NewX(key)
	if err != nil {
		return false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(sealed) < aead.NonceSize() {
		return false
	}
	plain, err := aead.Open(nil, sealed[:aead.NonceSize()], sealed[aead.NonceSize():], []byte(kind))
	return err == nil && json.Unmarshal(plain, attempt) == nil
}
