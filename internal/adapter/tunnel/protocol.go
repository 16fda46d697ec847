// Package tunnel is the manager's end of the connections that agents open. It keeps one HTTP/2 connection for each
// device, decides which devices may have one, and which connection stays when a device has two. This file defines the
// protocol for both ends; the agent's end is package adapter/agent.
//
// An agent dials the manager with TLS 1.3, the protocol ALPN, and the Syncthing certificate of its device, whose
// SHA-256 is the device ID. On that connection the agent is the HTTP/2 server and the manager the client. The manager
// first gets HelloPath, then puts the device's status to StatusPath. While the device is accepted it sends requests to
// the daemon, at the paths of the list (list.go). All bodies are JSON.
package tunnel

import (
	"time"

	"muster/internal/fleet"
)

// ALPN is the protocol name that agents request in the TLS handshake.
const ALPN = "muster-agent/1"

// Paths that the agent itself answers. It passes all other paths on to its daemon.
const (
	HelloPath  = "/agent/v1/hello"  // GET: Hello
	StatusPath = "/agent/v1/status" // PUT: Status; answered by 204
	DisksPath  = "/agent/v1/disks"  // GET: Disks (since version 2 of the list)
	// GET: 204 as soon as the daemon answers, 504 after DaemonWait (since version 2 of the list)
	DaemonPath = "/agent/v1/daemon"
)

// DisksHeader is on every answer of an agent that has facts about disks. Its value is a number, which changes when the
// facts have changed by a lot. The manager then reads DisksPath, at most once a minute.
const DisksHeader = "Muster-Agent-Disks"

// RunHeader is on answers of the daemon. Its value changes when the daemon may have been started anew. Older agents
// do not send it.
const RunHeader = fleet.DaemonRunHeader

// DaemonWait is how long an agent waits before it answers DaemonPath with 504.
const DaemonWait = 10 * time.Minute

// ErrorHeader is on answers that come from the agent instead of its daemon. Its value is one of the codes below. The
// body is one line of text for people.
const ErrorHeader = "Muster-Agent-Error"

// Codes of ErrorHeader.
const (
	ErrorForbidden   = "forbidden"   // 403: the method or path is not on the agent's list
	ErrorObserve     = "observe"     // 403: the agent was started with --observe, and the request would change something
	ErrorSwitch      = "switch"      // 403: the agent was started without the switch (--allow) that the request needs
	ErrorTooLarge    = "too_large"   // 413 or 502: the request or the daemon's answer exceeds the agent's limit
	ErrorUnreachable = "unreachable" // 502: the daemon does not answer on its own machine
)

// Limits of messages, in bytes.
const (
	MaxMessageBytes = 16 << 10  // Hello and Status
	MaxDisksBytes   = 128 << 10 // Disks
)

// Hello is what an agent reports about its machine. The manager takes the device ID from the certificate. It trusts
// the other fields only in matters of this device: for example, the pin decides which server gets the API key of this
// device.
type Hello struct {
	Name    string `json:"name"`              // host name
	System  string `json:"system"`            // GOOS/GOARCH
	Version string `json:"version"`           // version of the agent's program
	APIPort int    `json:"apiPort"`           // port of the daemon's API on its machine
	Observe bool   `json:"observe,omitempty"` // the agent refuses requests that change the daemon
	Key     string `json:"key,omitempty"`     // enrol key, until the device is accepted
	// "sha256:<hex>" of the certificate of the daemon's API, from its home directory
	Pin string `json:"pin,omitempty"`

	List  int      `json:"list,omitempty"`  // version of the list of allowed requests; absent: 1
	Allow []string `json:"allow,omitempty"` // the Switches that are on
}

// State says what the manager has decided about an agent's device.
type State string

// The states that an agent can be sent.
const (
	Waiting  State = "waiting"  // an administrator has not answered the enrolment request yet
	Accepted State = "accepted" // the daemon is managed over this connection
	// an administrator refused the device, or the enrol key is not valid; the manager closes the connection
	Refused State = "refused"
	// another agent is connected with the same certificate; the manager closes the connection
	Cloned State = "cloned"
	// the other agent with the same certificate has ended; the manager closes the connection, and the agent connects
	// again without a long pause
	Freed State = "freed"
)

// Status is what the manager sends an agent at the start and whenever the state changes.
type Status struct {
	State   State  `json:"state"`
	Message string `json:"message"`        // sentence for people
	Hint    string `json:"hint,omitempty"` // next step for the user of the machine
}
