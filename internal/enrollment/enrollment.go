// Package enrollment decides which devices are registered without an administrator's token: it holds the devices that
// wait for an administrator, admits those with an enrol key, and checks what a device says with its own key.
package enrollment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// Store keeps devices, keys and decisions. A device that waits is in no database: its request is worth something only
// while its agent is there.
type Store interface {
	Registry(ctx context.Context) (*fleet.Registry, error)
	EnrollKeys(ctx context.Context) ([]fleet.EnrollKey, error)
	CreateEnrollKey(ctx context.Context, key fleet.EnrollKey) error
	DeleteEnrollKey(ctx context.Context, id string) error
	EnrollDevice(ctx context.Context, e fleet.Enrollment) (fleet.Device, error)
	RenewDevice(ctx context.Context, r fleet.Renewal) (fleet.Device, error)
	EnrollmentDecision(ctx context.Context, id fleet.DeviceID) (fleet.EnrollmentDecision, error)
	RejectedEnrollments(ctx context.Context) ([]fleet.EnrollmentRequest, error)
	RejectEnrollment(ctx context.Context, asks fleet.EnrollmentRequest) error
	ForgetRejection(ctx context.Context, id fleet.DeviceID) error
}

// Bounds of the devices that wait. A certificate costs nothing, so that anybody can make as many as they like.
const (
	MaxWaiting           = 1024
	MaxWaitingPerAddress = 64 // IPv4 address, or IPv6 network of 64 bits
)

// absentKept is how long a request is listed after its agent left.
const absentKept = 24 * time.Hour

// Options of Enrollments.
type Options struct {
	Store Store
	Log   *slog.Logger
	// ChallengeKey authenticates challenges. Every server of a database has the same.
	ChallengeKey []byte
	// RefuseIP says why no device can be at an address, "" where one can. Addresses of this machine and its links count
	// only where local is true.
	RefuseIP func(ip netip.Addr, local bool) string
	Now      func() time.Time // nil: the clock
}

// Enrollments holds the devices that wait.
type Enrollments struct {
	o        Options
	log      *slog.Logger
	renewals struct{ ofAddress, ofDevice *limit }
	guesses  *guesses

	mu         sync.Mutex
	waiting    map[fleet.DeviceID]*request // guarded by mu
	turnedAway int                         // guarded by mu
	keys       knownKeys                   // guarded by mu
}

// request is a device that waits.
type request struct {
	fleet.EnrollmentRequest
	from    string // network of its address
	present bool   // its agent is connected
}

// New holds no device.
func New(o Options) *Enrollments {
	if o.Now == nil {
		o.Now = time.Now
	}
	e := &Enrollments{o: o, log: o.Log.With(logkey.Component, "enrollment"), waiting: map[fleet.DeviceID]*request{}}
	e.renewals.ofAddress = newLimit(renewalsOfAddress, renewalsOfAddressEach, tooManyRenewals)
	e.renewals.ofDevice = newLimit(renewalsOfDevice, renewalsOfDeviceEach, tooManyRenewals)
	e.guesses = newGuesses()
	return e
}

func (e *Enrollments) now() time.Time { return e.o.Now().UTC().Truncate(time.Millisecond) }

// Admit is what becomes of an agent that connected, or whose device was decided about since. An error says that it
// cannot be known now.
func (e *Enrollments) Admit(ctx context.Context, a fleet.Arrival) (fleet.EnrollmentAnswer, error) {
	a = a.Plain()
	registry, err := e.o.Store.Registry(ctx)
	if err != nil {
		return fleet.EnrollmentAnswer{}, err
	}
	if registry.Devices[a.Device] != nil {
		e.forget(a.Device)
		return accepted(), nil
	}
	if !a.Key.IsZero() {
		return e.admitByKey(ctx, a)
	}
	if !e.hasPlace(a) {
		return e.turnAway(), nil
	}
	decision, err := e.o.Store.EnrollmentDecision(ctx, a.Device)
	if err != nil {
		return fleet.EnrollmentAnswer{}, err
	}
	if decision.Rejected != nil {
		return refused(fleet.RejectedEnrollment()), nil
	}
	return e.wait(a, ""), nil
}

func (e *Enrollments) admitByKey(ctx context.Context, a fleet.Arrival) (fleet.EnrollmentAnswer, error) {
	key, err := e.Recognise(ctx, a.Key.Reveal())
	if err == nil {
		_, err = e.o.Store.EnrollDevice(ctx, fleet.Enrollment{
			Device: deviceOf(a, ""), KeyHash: key.Hash,
			Detail: fmt.Sprintf("by its agent, from %s, with the enrol key %s", a.Address, key.ID),
		})
	}
	switch code := fleet.CodeOf(err); {
	case err == nil, code == fleet.CodeConflict: // it was registered meanwhile
		e.forget(a.Device)
		return accepted(), nil
	case errors.Is(err, fleet.ErrRemovedSince), errors.Is(err, fleet.ErrDecisionsAltered):
		return e.wait(a, fleet.Reason(err)), nil
	case code == fleet.CodeForbidden:
		e.log.Info("an enrol key was refused", logkey.Device, a.Device, "from", a.Address, "reason", fleet.Reason(err))
		return refused(err), nil
	default:
		return fleet.EnrollmentAnswer{}, err
	}
}

// deviceOf is the record of the device of an agent: reached by its agent, with the API key that the agent has.
func deviceOf(a fleet.Arrival, label string) fleet.Device {
	for _, name := range []string{a.Name, a.Device.Short()} {
		if label == "" {
			label = name
		}
	}
	return fleet.Device{ID: a.Device, Label: label, APIPort: a.APIPort}
}

func accepted() fleet.EnrollmentAnswer {
	return fleet.EnrollmentAnswer{Status: fleet.EnrollmentAccepted, Message: "this device is managed"}
}

func refused(err error) fleet.EnrollmentAnswer {
	answer := fleet.EnrollmentAnswer{Status: fleet.EnrollmentRefused, Message: fleet.Reason(err)}
	if e := (*fleet.Error)(nil); errors.As(err, &e) {
		answer.Hint = e.Hint
	}
	return answer
}

// wait lists a device, with why its key did not register it.
func (e *Enrollments) wait(a fleet.Arrival, why string) fleet.EnrollmentAnswer {
	now := e.now()
	e.mu.Lock()
	defer e.mu.Unlock()
	is := e.waiting[a.Device]
	if is == nil {
		e.forgetAbsent(now)
		instead, ok := e.placeFor(a)
		if !ok {
			e.turnedAway++
			return crowded()
		}
		delete(e.waiting, instead)
		is = &request{EnrollmentRequest: fleet.EnrollmentRequest{Status: fleet.EnrollmentWaiting, FirstAt: now}}
		e.waiting[a.Device] = is
		e.log.Info("a device waits to be accepted", logkey.Device, a.Device, "name", a.Name, "from", a.Address)
	}
	a.Key = fleet.Secret{}
	is.Arrival, is.LastAt, is.from, is.present = a, now, network(a.Address), true
	answer := fleet.EnrollmentAnswer{Status: fleet.EnrollmentWaiting,
		Message: "this device waits until an administrator accepts it",
		Hint:    "Ask an administrator to type `muster enrollment accept " + string(a.Device) + "`."}
	if why != "" {
		answer.Message += ": " + why
	}
	return answer
}

// hasPlace tells whether a device can wait. It changes nothing: the device may be one that was rejected. Devices that
// are turned away cost no look into the database.
func (e *Enrollments) hasPlace(a fleet.Arrival) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ok := e.placeFor(a)
	return ok || e.waiting[a.Device] != nil
}

// placeFor tells whether there is a place for one more device, and which one has to be forgotten for it ("": none). Of
// the devices whose agents left, that is one in the network with the most devices, the new one counted: many
// certificates of one network push out each other. The caller holds mu.
func (e *Enrollments) placeFor(a fleet.Arrival) (instead fleet.DeviceID, ok bool) {
	from := network(a.Address)
	devices := map[string]int{from: 1} // by network
	for _, one := range e.waiting {
		devices[one.from]++
	}
	alike := devices[from] > MaxWaitingPerAddress
	if len(e.waiting) < MaxWaiting && !alike {
		return "", true
	}
	for id, one := range e.waiting {
		if one.present || alike && one.from != from {
			continue
		}
		best := e.waiting[instead]
		if best == nil || cmp.Or(devices[best.from]-devices[one.from], one.LastAt.Compare(best.LastAt)) < 0 {
			instead = id
		}
	}
	return instead, instead != ""
}

// forgetAbsent forgets the devices whose agents left long ago. The caller holds mu.
func (e *Enrollments) forgetAbsent(now time.Time) {
	for id, other := range e.waiting {
		if !other.present && now.Sub(other.LastAt) > absentKept {
			delete(e.waiting, id)
		}
	}
}

func (e *Enrollments) turnAway() fleet.EnrollmentAnswer {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.turnedAway++
	return crowded()
}

func crowded() fleet.EnrollmentAnswer {
	return fleet.EnrollmentAnswer{Status: fleet.EnrollmentRefused,
		Message: "too many devices wait to be accepted, in all or from this address",
		Hint: "Ask an administrator to accept or reject some (`muster enrollment list`), or for an enrol key " +
			"(`muster enroll-key create`)."}
}

// network is what counts as one address.
func network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return ""
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	prefix, _ := ip.Prefix(64)
	return prefix.String()
}

// Left says that the agent of a device is not connected any more.
func (e *Enrollments) Left(id fleet.DeviceID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if is := e.waiting[id]; is != nil {
		is.present, is.LastAt = false, e.now()
	}
}

func (e *Enrollments) forget(id fleet.DeviceID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.waiting, id)
}

// Counts are how many devices wait, and the bounds.
func (e *Enrollments) Counts() fleet.EnrollmentCounts {
	e.mu.Lock()
	defer e.mu.Unlock()
	return fleet.EnrollmentCounts{Waiting: len(e.waiting), Most: MaxWaiting, PerAddress: MaxWaitingPerAddress,
		TurnedAway: e.turnedAway}
}
