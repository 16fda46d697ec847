package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"
)

// AcceptFile is the name of the file in the server's home with the code that accepts a loss.
const AcceptFile = "accept-code"

// AuditEntry says who did what, and when. Each entry contains the hash of the entry before it.
type AuditEntry struct {
	ID       int64
	At       time.Time
	Who      string // name of the token or user; "muster" for what Muster did by itself
	What     string // "device.put", "template.delete", ...
	Subject  string // a device ID, template ID or tag
	Detail   string // an explanation for people, without secrets
	Previous string // Hash of the entry before; "" in the first entry
	Hash     string // computed by Sum
}

// auditFormat is the first line of the hashed text. A different set of fields needs a different first line.
const auditFormat = "muster audit 1\n"

// Sum returns the hash that an entry with these contents has: SHA-256, in lower-case hexadecimal digits, over the line
// "muster audit 1" with its line feed, and then the hash of the entry before, the ID, the time in milliseconds since
// 1970 (UTC), who, what, subject and detail. Each of the seven is written as the decimal number of its bytes, a colon,
// the bytes and a comma.
func (e AuditEntry) Sum() string {
	return NetstringSum(auditFormat, e.Previous, strconv.FormatInt(e.ID, 10), strconv.FormatInt(e.At.UnixMilli(), 10),
		e.Who, e.What, e.Subject, e.Detail)
}

// NetstringSum returns the SHA-256, in hexadecimal digits, of a format and fields. Two different lists of fields never
// hash the same bytes.
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

// AuditTampered is the What of an entry which records that Muster found tampering while it was writing.
const AuditTampered = "audit.tampered"

// AuditQuery selects entries of the audit. The zero value selects all, newest first.
type AuditQuery struct {
	Who     string    // "": of all users and tokens
	What    string    // a whole value, or with a dot at its end a prefix; "": all
	Subject string    // "": all subjects
	Scope   Scope     // selects what was done to devices in this part of the fleet; zero: everything
	Since   time.Time // zero: from the first entry on
	Until   time.Time // exclusive; zero: up to the last entry
	Oldest  bool      // oldest first
	// ByPeople selects what people and programs with tokens did, and not what Muster did by itself.
	ByPeople bool
	After    int64 // ID of the last entry of the page before; 0: start at the first
	Limit    int   // 0: no limit
}

type actorKey struct{}

// WithActor records in the context who requested the work. The person behind it is not known until WithPerson.
func WithActor(ctx context.Context, who string) context.Context {
	return WithPerson(context.WithValue(ctx, actorKey{}, who), "")
}

type personKey struct{}

// WithPerson records in the context the user behind the requester: the user itself, or the owner of the token.
func WithPerson(ctx context.Context, user string) context.Context {
	return context.WithValue(ctx, personKey{}, user)
}

// PersonOf returns the user behind the requester, or "" if no user is known.
func PersonOf(ctx context.Context) string {
	user, _ := ctx.Value(personKey{}).(string)
	return user
}

type roleKey struct{}

// WithRole records in the context the role of the requester.
func WithRole(ctx context.Context, role Role) context.Context {
	return context.WithValue(ctx, roleKey{}, role)
}

// RoleOf returns the requester's role, or "" when Muster works by itself.
func RoleOf(ctx context.Context) Role {
	role, _ := ctx.Value(roleKey{}).(Role)
	return role
}

// ActorMuster is who acts when Muster works by itself.
const ActorMuster = "muster"

// ActorOf returns who requested the work, or ActorMuster.
func ActorOf(ctx context.Context) string {
	if who, ok := ctx.Value(actorKey{}).(string); ok && who != "" {
		return who
	}
	return ActorMuster
}
