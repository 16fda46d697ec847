package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"
)

// AuditEntry says who did what, and when. Each carries the hash of the one before.
type AuditEntry struct {
	ID       int64
	At       time.Time
	Who      string // the name of the token or user; "muster" where Muster acted by itself
	What     string // "device.put", "template.delete", ...
	Subject  string // what it was done to: a device ID, a template ID, a tag
	Detail   string // for a person; no secrets
	Previous string // Hash of the entry before; "" in the first
	Hash     string // see Sum
}

// auditFormat is the first line of what is hashed. Another set of fields needs another one.
const auditFormat = "muster audit 1\n"

// Sum is the hash that an entry with these contents has: SHA-256, in lower-case hexadecimal digits, over the line
// "muster audit 1" with its line feed, and then the hash of the entry before, the ID, the time in milliseconds since
// 1970 (UTC), who, what, subject and detail. Each of the seven is written as the decimal number of its bytes, a colon,
// the bytes and a comma.
func (e AuditEntry) Sum() string {
	return NetstringSum(auditFormat, e.Previous, strconv.FormatInt(e.ID, 10), strconv.FormatInt(e.At.UnixMilli(), 10),
		e.Who, e.What, e.Subject, e.Detail)
}

// NetstringSum is the SHA-256, in hexadecimal digits, of a format and fields. No two lists of fields read the same.
func NetstringSum(format string, fields ...string) string {
	text := []byte(format)
	for _, field := range fields {
		text = strconv.AppendInt(text, int64(len(field)), 10)
		text = append(text, ':')
		text = append(text, field...)
		text = append(text, ',')
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// AuditTampered is what an entry says that records tampering found while Muster was writing.
const AuditTampered = "audit.tampered"

// AuditQuery picks entries of the audit. The zero value is all of them, newest first.
type AuditQuery struct {
	Who     string    // "": of all
	What    string    // whole, or with a dot at its end: everything that begins so; "": everything
	Subject string    // "": about everything
	Scope   Scope     // only what was done to devices inside; zero: to everything
	Since   time.Time // zero: from the first
	Until   time.Time // exclusive; zero: to the last
	Oldest  bool      // oldest first
	After   int64     // entries that come after the one with this ID; 0: from the beginning
	Limit   int       // 0: all
}

type actorKey struct{}

// WithActor says on whose behalf the work under the context is done.
func WithActor(ctx context.Context, who string) context.Context {
	return context.WithValue(ctx, actorKey{}, who)
}

type roleKey struct{}

// WithRole says with what role the work under the context is asked for.
func WithRole(ctx context.Context, role Role) context.Context {
	return context.WithValue(ctx, roleKey{}, role)
}

// RoleOf is the role of the actor, "" when there is none: Muster works by itself.
func RoleOf(ctx context.Context) Role {
	role, _ := ctx.Value(roleKey{}).(Role)
	return role
}

// ActorOf is who asked, "muster" when no user did.
func ActorOf(ctx context.Context) string {
	if who, ok := ctx.Value(actorKey{}).(string); ok && who != "" {
		return who
	}
	return "muster"
}
