package fleet

// Role says what a user may do. Each role includes the ones below it: viewer < operator < author < admin.
type Role string

const (
	RoleViewer   Role = "viewer"   // reads
	RoleOperator Role = "operator" // tags, apply, pause, consent to removals
	RoleAuthor   Role = "author"   // templates
	RoleAdmin    Role = "admin"    // devices, keys, users, secrets, settings
)

var roleRank = map[Role]int{RoleViewer: 1, RoleOperator: 2, RoleAuthor: 3, RoleAdmin: 4}

// ParseRole parses "viewer", "operator", "author" or "admin".
func ParseRole(s string) (Role, error) {
	if _, ok := roleRank[Role(s)]; ok {
		return Role(s), nil
	}
	return "", Invalidf("role", "role %q is not known: use viewer, operator, author or admin", s)
}

// Includes reports whether r allows everything that other allows.
func (r Role) Includes(other Role) bool {
	return roleRank[r] > 0 && roleRank[other] > 0 && roleRank[r] >= roleRank[other]
}
