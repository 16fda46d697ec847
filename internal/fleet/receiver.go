package fleet

import "time"

// Receiver is the state of the delivery of notifications to one receiver.
type Receiver struct {
	Name    string
	Waiting int       // Waiting messages; exact after every report, approximate in between
	Trouble string    // Why the last attempt failed; "" when it succeeded
	Since   time.Time // Since when attempts have failed
}
