package api

// AuditEntry says who did what, and when. Each carries the hash of the one before.
type AuditEntry struct {
	ID       int64  `json:"id" doc:"Grows by one"`
	At       Time   `json:"at" format:"date-time" doc:"When it was written"`
	Who      string `json:"who" doc:"The name of the token or user; muster for what Muster did without a request"`
	What     string `json:"what" doc:"device.create, template.replace, device.apply, ..."`
	Subject  string `json:"subject" doc:"What it was done to: a device ID, a template's ID, a tag"`
	Detail   string `json:"detail" doc:"For a person"`
	Previous string `json:"previous" doc:"The hash of the entry before; blank in the first"`
	Hash     string `json:"hash" doc:"SHA-256 of all the other fields; docs/audit.md says of which bytes"`
}

// AuditHead is a signed statement of how the audit ended at a time.
type AuditHead struct {
	Head string `json:"head" doc:"ID, time in milliseconds, hash and signature, with colons between"`
	Key  string `json:"key" doc:"The Ed25519 key that signs, in hexadecimal digits"`
}

// VerifyAudit is the body of a request to verify the audit.
type VerifyAudit struct {
	Heads []string `json:"heads,omitempty" nullable:"false" doc:"Heads that were kept elsewhere"`
}

// AuditReport is the result of a verification of the audit. Without faults and rows everything is as Muster wrote it.
type AuditReport struct {
	Entries  int64        `json:"entries" doc:"How many were looked at"`
	FirstID  int64        `json:"firstID" doc:"The first one that was looked at; 0: none"`
	LastID   int64        `json:"lastID" doc:"The last one; 0: none"`
	LastHash string       `json:"lastHash" doc:"Its hash; blank: none"`
	Faults   []AuditFault `json:"faults" nullable:"false" doc:"By entry, the first one first"`
	Rows     []string     `json:"rows" nullable:"false" doc:"Rows that Muster did not write as they are"`
}

// AcceptLoss is the body of a request to accept what is lost.
type AcceptLoss struct {
	Entry int64  `json:"entry" doc:"The last entry that is lost; where only rows are in doubt, the last entry of the audit"`
	Code  string `json:"code" doc:"Content of the file accept-code in the server's home: a token that came back with the database does not have it"`
}

// AcceptedLoss says what was accepted.
type AcceptedLoss struct {
	Accepted []string `json:"accepted" nullable:"false" doc:"For a person"`
}

// AuditFault is a place where the audit is not as Muster wrote it.
type AuditFault struct {
	ID     int64  `json:"id" doc:"Of the first entry that was changed, or is missing"`
	Detail string `json:"detail" doc:"What is wrong, for a person"`
}
