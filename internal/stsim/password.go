package stsim

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"regexp"
	"strings"
)

const (
	hashPrefix = "$2a$10$" // bcrypt at the daemon's cost
	saltLen    = 22
	hashLen    = 60
)

var bcryptEncoding = base64.NewEncoding("./ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789").WithPadding(base64.NoPadding)

// bcryptLike is how a v2 daemon tells a hash from a password (lib/config, SetPassword).
var bcryptLike = regexp.MustCompile(`^\$2[aby]\$\d+\$.{50,}`)

// hashPassword looks like bcrypt and costs nothing: a farm may be given thousands of passwords. It is salted as bcrypt
// is, so the same password gives another hash every time. Unlike bcrypt it is no protection.
func hashPassword(password string) string {
	return hashWith(rand.Text()[:saltLen], password)
}

func hashWith(salt, password string) string {
	mac := hmac.New(sha256.New, []byte(salt))
	mac.Write([]byte(password))
	sum := bcryptEncoding.EncodeToString(mac.Sum(nil))
	return hashPrefix + salt + sum[:hashLen-len(hashPrefix)-saltLen]
}

// CheckPassword tells whether a hash in a simulated daemon's gui.password was made of this password.
func CheckPassword(hash, password string) bool {
	if len(hash) != hashLen || !strings.HasPrefix(hash, hashPrefix) {
		return false
	}
	salt := hash[len(hashPrefix) : len(hashPrefix)+saltLen]
	return hmac.Equal([]byte(hash), []byte(hashWith(salt, password)))
}
