package auth

import "muster/internal/fleet"

// RoleInWords says whose role is not enough, as the beginning of a sentence.
func (p Principal) RoleInWords() string {
	if p.Session != "" {
		return "your role, " + string(p.Role) + ","
	}
	return "this token's role, " + string(p.Role) + ","
}

// HowToGet is the beginning of a hint that ends with a role.
func (p Principal) HowToGet() string {
	if p.Session != "" {
		return "Ask an administrator for the role "
	}
	return "Use a token with the role "
}

// MayChangeSetting checks that the principal may change a setting. An operator may stop Muster, and change nothing
// else.
func (p Principal) MayChangeSetting(stops bool) error {
	if stops || p.May(WriteSettings) {
		return nil
	}
	return &fleet.Error{
		Code: fleet.CodeForbidden, Message: p.RoleInWords() + " may only make a mode stricter: observe, or paused",
		Hint: p.HowToGet() + string(WriteSettings.Needs()) +
			" to have Muster go on, or watch again what is paused, or to change another setting.",
	}
}
