package stsim

import (
	"regexp"

	"golang.org/x/crypto/bcrypt"
)

// bcryptLimit is how many bytes of a password bcrypt looks at.
const bcryptLimit = 72

// bcryptLike is how a v2 daemon tells a hash from a password (lib/config, SetPassword).
var bcryptLike = regexp.MustCompile(`^\$2[aby]\$\d+\$.{50,}`)

// hashPassword hashes as the daemon does, at the least cost: a farm may be given thousands of passwords. A v1 daemon
// does not look at what is beyond the limit; adjustGUI refuses such a password on v2.
func hashPassword(password string) (string, error) {
	hash, err := bcrypt.GenerateFromPassword([]byte(password[:min(len(password), bcryptLimit)]), bcrypt.MinCost)
	return string(hash), err
}

// checkPassword reports whether a hash in gui.password was made of this password.
func checkPassword(hash, password string) bool {
	return bcrypt.CompareHashAndPassword([]byte(hash), []byte(password[:min(len(password), bcryptLimit)])) == nil
}
