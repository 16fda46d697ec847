package fleet

import (
	"context"
	"time"
)

// AuditEntry says who did what, and when.
type AuditEntry struct {
	ID      int64
	At      time.Time
	Who     string // a token's name, "muster" for what the service did by itself
	What    string // "device.put", "template.delete", ...
	Subject string // what it was done to: a device ID, a template ID, a tag
	Detail  string // for a person; no secrets
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

// ActorOf is who asked, "muster" when nobody did.
func ActorOf(ctx context.Context) string {
	if who, ok := ctx.Value(actorKey{}).(string); ok && who != "" {
		return who
	}
	return "muster"
}
