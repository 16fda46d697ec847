package fleet

import "time"

// Token is a credential of a program or a person towards Muster. Only the hash of its text is kept.
type Token struct {
	ID         int64 // assigned by the store
	Name       string
	Role       string
	Hash       [32]byte // SHA-256 of the text
	CreatedAt  time.Time
	LastUsedAt time.Time // zero: never
}
