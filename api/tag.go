package api

// TagProtection says whether only an admin puts a tag on a device or takes it off.
type TagProtection struct {
	Protected bool `json:"protected" doc:"Whether only administrators give and take the tag"`
}

// PutTagProtection is the body of a PUT of a TagProtection.
type PutTagProtection struct {
	Protected *bool `json:"protected" doc:"Whether only administrators give and take the tag"`
}
