package api

// User is a person who logs in, with a password or by single sign-on.
type User struct {
	Name        string    `json:"name" doc:"With which the user logs in"`
	Role        string    `json:"role" enum:"viewer,operator,author,admin" doc:"What its bearer may do"`
	Tags        []string  `json:"tags" nullable:"false" doc:"Only devices with one of these; empty: the whole fleet"`
	HasPassword bool      `json:"hasPassword" doc:"Without one only a log-in link or single sign-on lets the user in"`
	SignOn      *Identity `json:"signOn,omitempty" readOnly:"true" doc:"Only there for a user of single sign-on: who that is at the provider"`
	CreatedAt   Time      `json:"createdAt" format:"date-time" readOnly:"true" doc:"Set by the service"`
	UpdatedAt   Time      `json:"updatedAt" format:"date-time" readOnly:"true" doc:"Of the role or the password; set by the service"`
	LastLoginAt *Time     `json:"lastLoginAt" format:"date-time" readOnly:"true" doc:"Null: never"`
	DisabledAt  *Time     `json:"disabledAt" format:"date-time" readOnly:"true" doc:"Since then the user cannot log in; null: the user can"`
}

// Identity is a person as a provider of single sign-on names them.
type Identity struct {
	Issuer  string `json:"issuer" doc:"Address of the provider of single sign-on"`
	Subject string `json:"subject" doc:"The user at the provider"`
}

// CreateUser is the body of a POST of a user.
type CreateUser struct {
	Name     *string   `json:"name" doc:"Unique among users and tokens; kept in lower case"`
	Role     *string   `json:"role" enum:"viewer,operator,author,admin" doc:"What its bearer may do"`
	Tags     *[]string `json:"tags,omitempty" required:"false" nullable:"false" doc:"Tag scope of a viewer or an operator: at least one tag. Missing: the whole fleet"`
	Password *string   `json:"password,omitempty" required:"false" doc:"At least 12 characters; without one a log-in link is needed"`
}

// PutUser is the body of a PUT of a user.
type PutUser struct {
	Role     *string   `json:"role,omitempty" required:"false" enum:"viewer,operator,author,admin" doc:"Missing: it stays"`
	Tags     *[]string `json:"tags,omitempty" required:"false" nullable:"false" doc:"Tag scope; empty: the whole fleet. Missing: it stays, unless the role has none"`
	Password *string   `json:"password,omitempty" required:"false" doc:"At least 12 characters; without it the password stays"`
}

// ChangePassword is the body of a PUT of one's own password.
type ChangePassword struct {
	Current  *string `json:"current" doc:"The password until now"`
	Password *string `json:"password" doc:"At least 12 characters"`
}
