package fleet

import "time"

// Token is a credential of a program or a person towards Muster. Only the hash of its text is kept.
type Token struct {
	Name       string // unique
	Role       Role
	Hash       string // SHA-256 of the text, hex
	CreatedAt  time.Time
	LastUsedAt time.Time // zero: never
}
