package api

// Secret is the name of a secret that templates can pass on, and where it may go. Its value is never shown.
type Secret struct {
	Name string   `json:"name" doc:"Templates name it so"`
	Keys []string `json:"keys" nullable:"false" doc:"The keys that it is for, with * for every member; none: every secret field"`
	Tags []string `json:"tags" nullable:"false" doc:"The tags of the devices that it is for; none: every device. Without keys and tags only templates that an admin saved may use it"`

	Altered bool `json:"altered,omitzero" required:"false" doc:"Its row in the database was not written by Muster: it is given out no more"`
}

// PutSecret is the body of a PUT of a secret. What is left out stays as it is; a new secret needs a value.
type PutSecret struct {
	Value *string  `json:"value,omitempty" doc:"1 to 65,536 bytes; shown nowhere"`
	Keys  []string `json:"keys,omitzero" required:"false" nullable:"false" doc:"Replaces the list of keys, such as gui.password or folders.*.devices.*.encryptionPassword"`
	Tags  []string `json:"tags,omitzero" required:"false" nullable:"false" doc:"Replaces the list of tags"`
}
