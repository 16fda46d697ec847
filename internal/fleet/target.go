package fleet

// Target is the address of a daemon and how to verify it.
type Target struct {
	Device        DeviceID
	APIKey        Secret
	Address       string       // host:port of the API; for a device behind an agent, the agent's address
	Introduced    Introduction // see Introduction
	Pin           string       // "sha256:<hex>" of the GUI certificate, "" when none is known
	AllowPlain    bool         // allow plain HTTP to an address that is not loopback
	SyncAddresses []string     // announced addresses of the sync protocol, "tcp://host:port"; they can prove the device
}

// Candidate is a host at which a device may be found. The port of the API is in the device's record.
type Candidate struct {
	Host           string       // name or IP
	By             string       // how it was found: "agent", "record", "local", "fleet" or "global"
	Introduced     Introduction // see Introduction
	SyncAddresses  []string     // "tcp://host:port" at which the device can prove itself; those on this host first
	Agent          string       // HOST:PORT from which the device's agent connected; "" for a direct connection
	AgentTooOldFor string       // requests that the agent refuses because it is older than this server; "": no request
}

// FoundByAgent is Candidate.By for a device that is reached through its agent.
const FoundByAgent = "agent"
