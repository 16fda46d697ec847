package fleet

// Target is a daemon to talk to.
type Target struct {
	Device        DeviceID
	APIKey        Secret
	Address       string       // host:port of the API
	Introduced    Introduction // on whose word the daemon is looked for there
	Pin           string       // "sha256:<hex>" of the GUI certificate, "" when none is known
	AllowPlain    bool         // plain HTTP although the address is not loopback
	SyncAddresses []string     // of the sync protocol, "tcp://host:port", as announced; what can prove the device
}
