package tunnel

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"muster/internal/fleet"
)

// Event says that the connection of an agent changed.
type Event struct {
	Device  fleet.DeviceID
	Address string // HOST:PORT from which the agent connected
	Name    string // the agent's machine, as the agent reports it
	State   EventState
	Reason  string // an explanation for people; "" when the state needs none
}

// EventState is what happened to a connection.
type EventState string

// What can happen to the connection of an agent that has sent its Hello.
const (
	EventAccepted EventState = "accepted" // the device is now managed over this connection
	EventWaiting  EventState = "waiting"  // the device waits for an administrator
	// an administrator refused the device, its enrol key is not valid, or a limit is reached
	EventRefused      EventState = "refused"
	EventCloned       EventState = "cloned"       // another agent is connected with the same certificate
	EventDisconnected EventState = "disconnected" // the connection of an accepted or waiting device ended
)

// How often events about agents are published and logged. Events beyond that are counted and dropped.
const (
	eventsOfDevice      = 4 // events of one registered device at once
	eventsOfDeviceEach  = 20 * time.Second
	eventsOfOthers      = 50 // events of all unregistered devices at once
	eventsOfOthersEach  = time.Second
	eventsLeftOutLogged = time.Minute
)

// EventLimit prevents agents that connect again and again from filling the event log.
type EventLimit struct {
	mu       sync.Mutex // guards the fields below
	ofDevice map[fleet.DeviceID]*rate.Limiter
	others   *rate.Limiter
	leftOut  int
	loggedAt time.Time
}

// NewEventLimit makes a limit that has admitted no event yet.
func NewEventLimit() *EventLimit {
	return &EventLimit{ofDevice: map[fleet.DeviceID]*rate.Limiter{},
		others: rate.NewLimiter(rate.Every(eventsOfOthersEach), eventsOfOthers)}
}

// Admit reports whether an event about a device may be published. registered is the number of registered devices, or 0
// when this device is not registered. leftOut is the number of dropped events. It is reported only once in a while and
// is 0 otherwise.
func (l *EventLimit) Admit(id fleet.DeviceID, registered int, now time.Time) (told bool, leftOut int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	limit := l.others
	if registered > 0 {
		if limit = l.ofDevice[id]; limit == nil {
			if len(l.ofDevice) > registered {
				clear(l.ofDevice) // The map also contains devices that are no longer registered.
			}
			limit = rate.NewLimiter(rate.Every(eventsOfDeviceEach), eventsOfDevice)
			l.ofDevice[id] = limit
		}
	}
	if told = limit.AllowN(now, 1); !told {
		l.leftOut++
	}
	if l.leftOut > 0 && now.Sub(l.loggedAt) >= eventsLeftOutLogged {
		leftOut, l.leftOut, l.loggedAt = l.leftOut, 0, now
	}
	return told, leftOut
}
