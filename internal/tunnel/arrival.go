package tunnel

import (
	"net"

	"muster/internal/fleet"
)

// Arrival is a request as those who decide about it know it.
func (r Request) Arrival() fleet.Arrival {
	host, _, err := net.SplitHostPort(r.Address)
	if err != nil {
		host = r.Address
	}
	return fleet.Arrival{Device: r.Device, Name: r.Hello.Name, System: r.Hello.System, Version: r.Hello.Version,
		APIPort: r.Hello.APIPort, Address: host, Key: fleet.NewSecret(r.Hello.Key)}
}

// StatusOf is what an agent is told of a decision about its device.
func StatusOf(answer fleet.EnrollmentAnswer) Status {
	states := map[fleet.EnrollmentStatus]State{fleet.EnrollmentAccepted: Accepted, fleet.EnrollmentWaiting: Waiting}
	state, known := states[answer.Status]
	if !known {
		state = Refused
	}
	return Status{State: state, Message: answer.Message, Hint: answer.Hint}
}
