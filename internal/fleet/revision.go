package fleet

import "time"

// Revision is one observed configuration of a device, numbered from 1, with its cause.
type Revision struct {
	Device DeviceID
	Number int64
	Digest string // SHA-256 of the normalised document, hex
	Cause  string // CauseTemplate and so on; "" when unknown, as for the first revision
	SeenAt time.Time
	JSON   []byte // the document with its secrets; nil in lists
}

// The causes of revisions.
const (
	CauseTemplate = "template" // templates or tags asked for it, or no longer do
	CauseDaemon   = "daemon"   // a person at the daemon
	CauseRestore  = "restore"  // a person restored an older revision
	CauseAccept   = "accept"   // a person accepted a pending device or folder
)
