package api

// Secret is the name of a secret that templates can pass on. Its value is never shown.
type Secret struct {
	Name string `json:"name"`
}

// PutSecret is the body of a PUT of a secret.
type PutSecret struct {
	Value *string `json:"value" doc:"1 to 65,536 bytes; shown nowhere"`
}
