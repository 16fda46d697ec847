package tunnel

import (
	"net"

	"muster/internal/fleet"
)

// Arrival converts a request to the form in which package enrollment decides about it.
func (r Request) Arrival() fleet.Arrival {
	host, _, err := net.SplitHostPort(r.Address)
	if err != nil {
		host = r.Address
	}
	return fleet.Arrival{Device: r.Device, Name: r.Hello.Name, System: r.Hello.System, Version: r.Hello.Version,
		APIPort: r.Hello.APIPort, Address: host, Key: fleet.NewSecret(r.Hello.Key)}
}

// StatusOf converts a decision about a device to the status that its agent gets.
func StatusOf(answer fleet.EnrollmentAnswer) Status {
	states := map[fleet.EnrollmentStatus]State{fleet.EnrollmentAccepted: Accepted, fleet.EnrollmentWaiting: Waiting}
	state, known := states[answer.Status]
	if !known {
		state = Refused
	}
	return Status{State: state, Message: answer.Message, Hint: answer.Hint}
}
