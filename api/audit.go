package api

// AuditEntry says who did what, and when.
type AuditEntry struct {
	ID      int64  `json:"id"`
	At      Time   `json:"at" format:"date-time"`
	Who     string `json:"who" doc:"A token's name; muster for what the service did by itself"`
	What    string `json:"what" doc:"device.create, template.replace, device.apply, ..."`
	Subject string `json:"subject" doc:"What it was done to: a device ID, a template's ID, a tag"`
	Detail  string `json:"detail" doc:"For a person"`
}
