package fleet

// Target is a daemon to talk to.
type Target struct {
	Device        DeviceID
	APIKey        Secret
	Address       string       // host:port of the API; of a device that is reached by its agent, that of the agent
	Introduced    Introduction // on whose word the daemon is looked for there
	Pin           string       // "sha256:<hex>" of the GUI certificate, "" when none is known
	AllowPlain    bool         // plain HTTP although the address is not loopback
	SyncAddresses []string     // of the sync protocol, "tcp://host:port", as announced; what can prove the device
}

// Candidate is a place where a device may be. The port of the API comes from the device's record.
type Candidate struct {
	Host          string       // name or IP
	By            string       // "agent", "record", "local", "fleet" or "global": how it was found
	Introduced    Introduction // by whom
	SyncAddresses []string     // "tcp://host:port": where the device can prove itself, those on this host first
	Agent         string       // HOST:PORT from where the device's agent connected; "" where it is reached directly
}

// FoundByAgent is Candidate.By of a device that is reached by its agent.
const FoundByAgent = "agent"
