package api

// Token is a program's credential, without the secret.
type Token struct {
	Name         string   `json:"name" doc:"Audit entries name it so"`
	Role         string   `json:"role" enum:"viewer,operator,author,admin" doc:"What its bearer may do"`
	Owner        string   `json:"owner" readOnly:"true" doc:"User who was given its secret, when it was made or last rotated; blank when no user is known, as for the token in the home folder"`
	Tags         []string `json:"tags" nullable:"false" doc:"Its tag scope: it sees and touches only devices with one of these tags. Empty: the whole fleet"`
	CreatedAt    Time     `json:"createdAt" format:"date-time" readOnly:"true" doc:"Set by the service"`
	IssuedAt     Time     `json:"issuedAt" format:"date-time" doc:"When its secret was made: with the token, or by the last rotation"`
	ExpiresAt    *Time    `json:"expiresAt" format:"date-time" nullable:"true" doc:"null: never"`
	OldUntil     *Time    `json:"oldUntil" format:"date-time" nullable:"true" doc:"Until when the secret before the last rotation works too; null when there is none"`
	LastUsedAt   *Time    `json:"lastUsedAt" format:"date-time" nullable:"true" doc:"null: never"`
	LastUsedFrom string   `json:"lastUsedFrom" doc:"Address of the last use; blank when there was none"`
	Altered      bool     `json:"altered,omitempty" readOnly:"true" doc:"Its row in the database was not written by Muster: it is refused"`
}

// NewToken is the one answer that shows the secret.
type NewToken struct {
	Token
	Secret string `json:"token" doc:"Shown once; send it as Authorization: Bearer or X-API-Key"`
}

// CreateToken is the body of a POST of a token.
type CreateToken struct {
	Name       *string   `json:"name" doc:"Unique; at most 128 bytes"`
	Role       *string   `json:"role" enum:"viewer,operator,author,admin" doc:"What its bearer may do"`
	Tags       *[]string `json:"tags,omitempty" nullable:"false" doc:"Tag scope of a viewer or an operator: at least one tag. Missing: the whole fleet"`
	ExpiresInS *int64    `json:"expiresInS,omitempty" minimum:"1" doc:"Seconds until it expires. Missing: never"`
}

// RotateToken is the body of a rotation.
type RotateToken struct {
	OverlapS   *int64 `json:"overlapS,omitempty" minimum:"0" doc:"Seconds for which the old secret works too; at most 30 days. Missing: a day"`
	ExpiresInS *int64 `json:"expiresInS,omitempty" minimum:"1" doc:"Seconds until the new secret expires. Missing: as long as the old one lasted, if it had an end"`
}
