// Package enrollment decides which devices are registered without an administrator's token. It holds the devices that
// wait for an administrator, admits devices with an enrol key, and checks what a device tells with its own key.
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

// Store keeps devices, enrol keys and decisions. Devices that wait are in no database, because a request is worth
// something only while its agent is there.
type Store interface {
	Registry(ctx context.Context) (*fleet.Registry, error)
	EnrollKeys(ctx context.Context) ([]fleet.EnrollKey, error)
	CreateEnrollKey(ctx context.Context, key fleet.EnrollKey) error
	DeleteEnrollKey(ctx context.Context, id string) error
	RenewDevice(ctx context.Context, r fleet.Renewal) (fleet.Device, error)
	EnrollmentDecision(ctx context.Context, id fleet.DeviceID) (fleet.EnrollmentDecision, error)
	RejectedEnrollments(ctx context.Context) ([]fleet.EnrollmentRequest, error)
	RejectEnrollment(ctx context.Context, asks fleet.EnrollmentRequest) error
	ForgetRejection(ctx context.Context, id fleet.DeviceID) error
}

// Changes registers devices; see change.Changes.
type Changes interface {
	Apply(ctx context.Context, edit fleet.Edit, basis fleet.Basis) (fleet.Applied, error)
}

// Bounds on the devices that wait. A certificate costs nothing, so anybody can make as many as they like.
const (
	MaxWaiting           = 1024
	MaxWaitingPerAddress = 64 // devices per IPv4 address, or per IPv6 network of 64 bits
)

// absentKept is how long a request is listed after its agent left.
const absentKept = 24 * time.Hour

// Options of Enrollments.
type Options struct {
	Store   Store
	Changes Changes
	Log     *slog.Logger
	// ChallengeKey authenticates challenges. All servers of one database have the same key.
	ChallengeKey []byte
	// RefuseIP tells why no device can be at an address, "" where one can. Addresses of this machine and of its links
	// are allowed only where local is true.
	RefuseIP func(ip netip.Addr, local bool) string
	Policy   func() fleet.EnrollmentPolicy // What enrol keys may do now; nil: all
	Now      func() time.Time              // nil: the clock
}

// Enrollments holds the devices that wait for an administrator.
type Enrollments struct {
	o         Options
	log       *slog.Logger
	renewals  struct{ ofAddress, ofDevice *limit }
	wrongKeys *wrongKeys

	mu         sync.Mutex
	waiting    map[fleet.DeviceID]*request // guarded by mu
	turnedAway int                         // guarded by mu
	keys       knownKeys                   // guarded by mu
}

// request is a device that waits for an administrator.
type request struct {
	fleet.EnrollmentRequest
	from    string // network of the agent's address
	present bool   // The device's agent is connected.
}

// New makes an Enrollments without waiting devices.
func New(o Options) *Enrollments {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Policy == nil {
		o.Policy = func() (all fleet.EnrollmentPolicy) { return all }
	}
	e := &Enrollments{o: o, log: o.Log.With(logkey.Component, "enrollment"), waiting: map[fleet.DeviceID]*request{}}
	e.renewals.ofAddress = newLimit(renewalsOfAddress, renewalsOfAddressEach, tooManyRenewals)
	e.renewals.ofDevice = newLimit(renewalsOfDevice, renewalsOfDeviceEach, tooManyRenewals)
	e.wrongKeys = newWrongKeys()
	return e
}

func (e *Enrollments) now() time.Time { return e.o.Now().UTC().Truncate(time.Millisecond) }

// Admit returns the answer to an agent that has connected, or about whose device a decision was made. An error means
// that the answer cannot be known now.
func (e *Enrollments) Admit(ctx context.Context, a fleet.Arrival) (fleet.EnrollmentAnswer, error) {
	a = a.Plain()
	registry, err := e.o.Store.Registry(ctx)
	if err != nil {
		return fleet.EnrollmentAnswer{}, err
	}
	if revoked, is := registry.Revocations[a.Device]; is {
		e.forget(a.Device)
		return refused(revoked.Refusal()), nil
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
		_, err = e.register(ctx, fleet.Enrollment{
			Device: deviceOf(a, ""), KeyHash: key.Hash, Tags: key.Tags, OwnName: true,
			Detail: fmt.Sprintf("by its agent, from %s, with the enrol key %s", a.Address, key.ID),
		})
	}
	switch code := fleet.CodeOf(err); {
	case err == nil, code == fleet.CodeConflict: // The device was registered meanwhile.
		e.forget(a.Device)
		return accepted(), nil
	case errors.Is(err, fleet.ErrRemovedSince), errors.Is(err, fleet.ErrDecisionsAltered),
		errors.Is(err, fleet.ErrHeldByPolicy), code == fleet.CodeInvalid:
		return e.wait(a, fleet.Reason(err)), nil
	case code == fleet.CodeForbidden:
		e.log.Info("an enrol key was refused", logkey.Device, a.Device, "from", a.Address, "reason", fleet.Reason(err))
		return refused(err), nil
	default:
		return fleet.EnrollmentAnswer{}, err
	}
}

// register registers the device of an enrolment.
func (e *Enrollments) register(ctx context.Context, enrollment fleet.Enrollment) (fleet.Device, error) {
	enrollment.Policy = e.o.Policy()
	done, err := e.o.Changes.Apply(ctx, fleet.Edit{Enroll: &enrollment}, fleet.Basis{})
	return done.Device, err
}

// deviceOf returns the record for the device of an agent: it is reached by its agent, with the API key that the agent
// has.
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

// wait adds a device to those that wait. why is the reason for which its enrol key did not register it.
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

// hasPlace reports whether a device could wait. It changes nothing, because the device may be one that was rejected. So
// devices for which there is no place are turned away without a query to the database.
func (e *Enrollments) hasPlace(a fleet.Arrival) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ok := e.placeFor(a)
	return ok || e.waiting[a.Device] != nil
}

// placeFor reports whether one more device can wait, and which device must be removed to make room ("": none). It
// chooses a device whose agent has disconnected, from the network with the most such devices, including the new one.
// So a network with many certificates displaces only its own devices. The caller holds mu.
func (e *Enrollments) placeFor(a fleet.Arrival) (instead fleet.DeviceID, ok bool) {
	from := network(a.Address)
	devices := map[string]int{from: 1} // number of devices by network
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

// network returns the network of an address. Addresses of one network count as one.
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

// Left notes that the agent of a device is not connected any more.
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

// Counts returns how many devices wait, and the bounds.
func (e *Enrollments) Counts() fleet.EnrollmentCounts {
	e.mu.Lock()
	defer e.mu.Unlock()
	return fleet.EnrollmentCounts{Waiting: len(e.waiting), Most: MaxWaiting, PerAddress: MaxWaitingPerAddress,
		TurnedAway: e.turnedAway}
}
