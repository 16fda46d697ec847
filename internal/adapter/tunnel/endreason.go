package tunnel

import "errors"

// The reasons why tunnels end.
var (
	errProtocol = errors.New("it does not speak the agents' protocol")
	errCrowded  = errors.New("too many agents that are not accepted are connected")
	errCloned   = errors.New("another agent is connected with the same certificate")
	errReplaced = errors.New("a newer connection of the same device took its place")
	errRefused  = errors.New("its device is not admitted")
	errSilent   = errors.New("it does not answer a ping")
	errFlood    = errors.New("it sends far more than it was asked for")
	errStopped  = errors.New("the server stops")
	errClosed   = errors.New("it closed the connection")
)

// endings are the reasons that are counted. An error counts for the first that matches, or else as "failed".
var endings = [...]struct {
	name string
	err  error
}{
	{"flood", errFlood}, {"protocol", errProtocol}, {"crowded", errCrowded}, {"cloned", errCloned},
	{"replaced", errReplaced}, {"refused", errRefused}, {"silent", errSilent}, {"stopped", errStopped},
	{"closed", errClosed}, {"failed", nil},
}
