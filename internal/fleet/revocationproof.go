package fleet

import "time"

// RevocationProof says what is proven about a revoked device at one managed daemon. It rests on what the daemon itself
// answered: a daemon that lies can forge it.
type RevocationProof struct {
	Revoked DeviceID
	Device  DeviceID // Its daemon was asked.
	// ConfigAt is when Muster began to read the configuration that did not have the revoked device. Zero: that is not
	// proven, or not any more.
	ConfigAt time.Time
	Digest   string // The digest is that of the configuration.
	// ConnectionsAt is when Muster began to read the daemon's connections, which did not have the revoked device. It is
	// after ConfigAt.
	ConnectionsAt time.Time
	Returns       int       // how often the device was there again after a proof
	ReturnedAt    time.Time // Time at which Muster saw the newest return. It is zero without a return.
}

// Proven reports whether the daemon is proven to have neither the revoked device nor a connection to it.
func (p RevocationProof) Proven() bool { return !p.ConfigAt.IsZero() && !p.ConnectionsAt.IsZero() }

// Returned is the proof after the device was seen on the daemon again.
func (p RevocationProof) Returned(at time.Time) RevocationProof {
	return RevocationProof{Revoked: p.Revoked, Device: p.Device, Returns: p.Returns + 1, ReturnedAt: at}
}
