package auth

import (
	"fmt"
	"slices"
	"strings"

	"muster/internal/fleet"
)

// RoleRule gives the members of a group at the provider of single sign-on a role, for the whole fleet or for a scope.
type RoleRule struct {
	Group string
	Role  fleet.Role
	Scope fleet.Scope
}

// ParseRoleRule parses ROLE=GROUP or ROLE:TAG,TAG=GROUP. The name of a group may contain "=", a tag may not.
func ParseRoleRule(text string) (rule RoleRule, err error) {
	left, group, found := strings.Cut(text, "=")
	role, tags, scoped := strings.Cut(left, ":")
	if rule.Group = strings.TrimSpace(group); !found || rule.Group == "" {
		return rule, wrongRule(text, "it names no group")
	}
	if rule.Role, err = fleet.ParseRole(strings.TrimSpace(role)); err != nil {
		return rule, wrongRule(text, fleet.Reason(err))
	}
	if !scoped {
		return rule, nil
	}
	var all []fleet.Tag
	for name := range strings.SplitSeq(tags, ",") {
		tag, err := fleet.ParseTag(strings.TrimSpace(name))
		if err != nil {
			return rule, wrongRule(text, fleet.Reason(err))
		}
		all = append(all, tag)
	}
	rule.Scope = fleet.ScopeOf(all)
	if err := (fleet.User{Role: rule.Role, Scope: rule.Scope}).Validate(); err != nil {
		return rule, wrongRule(text, fleet.Reason(err))
	}
	return rule, nil
}

func wrongRule(text, why string) error {
	return &fleet.Error{Code: fleet.CodeInvalid, Message: fmt.Sprintf("--oidc-role %q cannot be used: %s", text, why),
		Hint: "For example --oidc-role admin=muster-admins, or --oidc-role operator:berlin,munich=sync-berlin for devices " +
			"with one of these tags only."}
}

// roleOf returns what the rules give to a member of these groups: the highest role, for the tags of all rules that
// give this role. If one of these rules is for the whole fleet, the scope is the whole fleet. ok is false if no rule
// applies.
func roleOf(rules []RoleRule, groups []string) (role fleet.Role, scope fleet.Scope, ok bool) {
	var tags []fleet.Tag
	whole := false
	for _, rule := range rules {
		if !slices.Contains(groups, rule.Group) || ok && !rule.Role.Includes(role) {
			continue
		}
		if rule.Role != role {
			role, tags, whole, ok = rule.Role, nil, false, true
		}
		whole = whole || rule.Scope.Whole()
		tags = append(tags, rule.Scope.Tags()...)
	}
	if whole {
		tags = nil
	}
	return role, fleet.ScopeOf(tags), ok
}
