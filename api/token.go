package api

// Token is a program's credential, without the secret.
type Token struct {
	Name      string `json:"name"`
	Role      string `json:"role" enum:"viewer,operator,author,admin"`
	CreatedAt Time   `json:"createdAt" format:"date-time" readOnly:"true" doc:"Set by the service"`
}

// NewToken is the one answer that shows the secret.
type NewToken struct {
	Token
	Secret string `json:"token" doc:"Shown once; send it as Authorization: Bearer or X-API-Key"`
}

// CreateToken is the body of a POST of a token.
type CreateToken struct {
	Name *string `json:"name" doc:"Unique; at most 128 bytes"`
	Role *string `json:"role" enum:"viewer,operator,author,admin"`
}
