// Package auth finds out who sends a request and what they may do: tokens, users and their sessions, roles,
// permissions. It knows HTTP only as far as requests carry credentials; the routes and their permissions are in
// package httpapi.
package auth

import (
	"time"

	"muster/internal/fleet"
)

// Permission is what a principal must have to use a route. Every route declares one.
type Permission string

const (
	Public           Permission = "public"          // needs no authentication: health, logging in
	Self             Permission = "self"            // acts on the caller's own sessions and password
	Read             Permission = "read"            // everything that is shown, secrets masked
	WriteTags        Permission = "tags.write"      // tags of devices and templates
	Apply            Permission = "apply"           // apply, pause, consent to removals
	Consent          Permission = "consent"         // consent to every other held change
	WriteTemplates   Permission = "templates.write" // templates, evaluating new ones
	Approve          Permission = "approve"         // rollouts over many devices
	WriteDevices     Permission = "devices.write"   // devices and their API keys
	Stop             Permission = "stop"            // make Muster stop writing or watching: all modes except on
	WriteSettings    Permission = "settings.write"  // modes, pins
	ManageTokens     Permission = "tokens.manage"
	ListSecrets      Permission = "secrets.list" // the names of secrets
	WriteSecrets     Permission = "secrets.write"
	ManageSeal       Permission = "seal.manage" // the key that seals the database
	ReadAudit        Permission = "audit.read"
	ReadMetrics      Permission = "metrics.read"
	ManageUsers      Permission = "users.manage"
	ManageSinks      Permission = "sinks.manage"      // places outside that get what Muster records
	RunDemo          Permission = "demo.run"          // a second server with simulated devices
	ManageEnrollment Permission = "enrollment.manage" // enrol keys, devices that ask to be registered
	Enroll           Permission = "enroll"            // the one permission of an enrol key
)

// needs has, for each permission, the lowest role that has it. A permission that is missing here belongs to no role.
var needs = map[Permission]fleet.Role{
	Self:             fleet.RoleViewer,
	Read:             fleet.RoleViewer,
	WriteTags:        fleet.RoleOperator,
	Apply:            fleet.RoleOperator,
	Consent:          fleet.RoleAdmin,
	WriteTemplates:   fleet.RoleAuthor,
	Approve:          fleet.RoleAdmin,
	WriteDevices:     fleet.RoleAdmin,
	Stop:             fleet.RoleOperator, // Operators work at night. Letting Muster go on needs WriteSettings.
	WriteSettings:    fleet.RoleAdmin,
	ManageTokens:     fleet.RoleAdmin,
	ListSecrets:      fleet.RoleAuthor, // Authors have to know the names for their templates.
	WriteSecrets:     fleet.RoleAdmin,
	ManageSeal:       fleet.RoleAdmin,
	ReadAudit:        fleet.RoleOperator,
	ReadMetrics:      fleet.RoleViewer,
	ManageUsers:      fleet.RoleAdmin,
	ManageSinks:      fleet.RoleAdmin,
	RunDemo:          fleet.RoleAdmin,
	ManageEnrollment: fleet.RoleAdmin,
}

// Needs returns the lowest role that has the permission, or "" if no role has it.
func (p Permission) Needs() fleet.Role { return needs[p] }

// Credential is how a request proves who sends it.
type Credential string

const (
	CredentialToken     Credential = "token"      // token of a program
	CredentialSession   Credential = "session"    // token of a session, in a header
	CredentialCookie    Credential = "cookie"     // token of a session, in a cookie
	CredentialEnrollKey Credential = "enroll-key" // registers devices and has no role
)

// Principal is the sender of a request: a program with its token, or a user with a session.
type Principal struct {
	Name       string // name of the token or the user
	Person     string // the user, or the owner of the token; "": not known
	Role       fleet.Role
	Scope      fleet.Scope // the part of the fleet that the principal may see and change
	Credential Credential
	Session    string    // ID of the session; "": the credential is a token
	ExpiresAt  time.Time // end of the session; zero: the credential is a token
	SignedOn   bool      // the session was begun by single sign-on
	EnrollKey  string    // hash of the enrol key; "": the credential is something else

	issued   string // hash of the newest token of the session
	issuedAt time.Time
}

// May reports whether the principal has a permission.
func (p Principal) May(permission Permission) bool {
	if permission == Public {
		return true
	}
	if p.Credential == CredentialEnrollKey {
		return permission == Enroll
	}
	role, known := needs[permission]
	return known && p.Role.Includes(role)
}
