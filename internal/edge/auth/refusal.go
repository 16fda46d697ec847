package auth

import "muster/internal/fleet"

// roleInWords returns the beginning of a sentence about the caller's role.
func (p Principal) roleInWords() string {
	if p.Session != "" {
		return "your role, " + string(p.Role) + ","
	}
	return "this token's role, " + string(p.Role) + ","
}

// howToGet returns the beginning of a hint. The name of a role must follow.
func (p Principal) howToGet() string {
	if p.Session != "" {
		return "Ask an administrator for the role "
	}
	return "`muster whoami` shows who you are. Log in with `muster login`, or use a token, with the role "
}

// MayChangeSetting returns a forbidden error if the principal may not change a setting. stops says that the change
// only makes a mode stricter: the permission Stop is enough for that, so the result is nil.
func (p Principal) MayChangeSetting(stops bool) error {
	if stops || p.May(WriteSettings) {
		return nil
	}
	return &fleet.Error{
		Code:    fleet.CodeForbidden,
		Message: p.roleInWords() + " may only make a mode stricter: observe (observe only), or paused (not watched)",
		Hint: p.howToGet() + string(WriteSettings.Needs()) +
			" to have Muster go on, or watch again what is not watched, or to change another setting.",
	}
}

// Lacks returns the error for a caller whose role lacks a permission. what is the end of the sentence about the role,
// such as "may not do that".
func (p Principal) Lacks(permission Permission, what string) error {
	switch {
	case p.Credential == CredentialEnrollKey:
		return &fleet.Error{Code: fleet.CodeForbidden, Message: "an enrol key registers devices and does nothing else",
			Hint: "Use a token, or log in with `muster login`."}
	case permission == Enroll:
		return &fleet.Error{Code: fleet.CodeForbidden, Message: "only an enrol key may do that",
			Hint: "Register the device with PUT /api/v1/devices/{deviceID}, or make an enrol key.",
			See:  fleet.Reference{Subject: fleet.SeeEnrollKeys}}
	}
	hint := p.howToGet() + string(permission.Needs())
	if permission.Needs() != fleet.RoleAdmin { // No role is higher.
		hint += " or higher"
	}
	return &fleet.Error{Code: fleet.CodeForbidden, Message: p.roleInWords() + " " + what, Hint: hint + "."}
}
