package fleet

import "time"

// Revision is one observed configuration of a device, numbered from 1, with its cause.
type Revision struct {
	Device DeviceID
	Number int64
	Digest string // SHA-256 of the normalised document, hex
	Cause  string // "template", "daemon" (a person at the daemon), "restore"; "" when not known
	SeenAt time.Time
	JSON   []byte // the document with its secrets; nil in lists
}
