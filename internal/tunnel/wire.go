// Package tunnel is the manager's end of the connections that agents open: the HTTP/2 connection of each device, who
// may have one, and which of two is kept. This file is what both ends agree on; the agent's end is internal/agent.
//
// An agent dials the manager with TLS 1.3, the protocol ALPN and the Syncthing certificate of its device, whose SHA-256
// is the device ID. On that connection the agent serves HTTP/2 and the manager is the client: it asks HelloPath first,
// answers with StatusPath, and reaches the daemon at /rest/ while the device is accepted. All bodies are JSON.
package tunnel

// ALPN is the protocol that agents ask for in the TLS handshake.
const ALPN = "muster-agent/1"

// Paths of the agent itself. Everything else that it serves is its daemon's, below /rest/.
const (
	HelloPath  = "/agent/v1/hello"  // GET: Hello
	StatusPath = "/agent/v1/status" // PUT: Status; 204
)

// ErrorHeader is on the answers that an agent gives itself in place of its daemon. Its value is one of the codes below,
// the body is one line of text for people.
const ErrorHeader = "Muster-Agent-Error"

// Codes of ErrorHeader.
const (
	ErrorForbidden   = "forbidden"   // 403: the method or path is not on the agent's list
	ErrorObserve     = "observe"     // 403: the agent was started with --observe, and the request would change something
	ErrorTooLarge    = "too_large"   // 413 or 502: the request or the daemon's answer is over the agent's bound
	ErrorUnreachable = "unreachable" // 502: the daemon does not answer on its own machine
)

// MaxMessageBytes bounds Hello and Status.
const MaxMessageBytes = 16 << 10

// Hello is what an agent tells of its machine. The manager takes the device ID from the certificate, and believes
// the rest as far as it is about this device: a pin is where the device's own API key goes.
type Hello struct {
	Name    string `json:"name"`              // host name
	System  string `json:"system"`            // GOOS/GOARCH
	Version string `json:"version"`           // of the agent
	APIPort int    `json:"apiPort"`           // on which the daemon answers on its own machine
	Observe bool   `json:"observe,omitempty"` // the agent lets nothing change its daemon
	Key     string `json:"key,omitempty"`     // enrol key, while the device is not accepted
	Pin     string `json:"pin,omitempty"`     // "sha256:<hex>" of the certificate of the daemon's API, from its home
}

// State tells an agent how the manager regards its device.
type State string

// States of a device, as its agent is told.
const (
	Waiting  State = "waiting"  // for an administrator to accept the enrolment request
	Accepted State = "accepted" // the daemon is managed over this connection
	Refused  State = "refused"  // by an administrator, or the enrol key is not valid; the connection is closed
	Cloned   State = "cloned"   // another agent is connected with the same certificate; the connection is closed
)

// Status is what the manager tells an agent, whenever it changes.
type Status struct {
	State   State  `json:"state"`
	Message string `json:"message"`        // one sentence for people
	Hint    string `json:"hint,omitempty"` // what to do next
}
