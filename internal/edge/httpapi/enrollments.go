package httpapi

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/engine/enrollment"
	"muster/internal/fleet"
)

// Enrollments registers devices that are not registered; see enrollment.Enrollments.
type Enrollments interface {
	Requests(ctx context.Context) ([]fleet.EnrollmentRequest, error)
	Counts() fleet.EnrollmentCounts
	Accept(ctx context.Context, id fleet.DeviceID, label string, tags []fleet.Tag) (fleet.Device, error)
	Reject(ctx context.Context, id fleet.DeviceID) error
	Forget(ctx context.Context, id fleet.DeviceID) error
}

// EnrollKeys are the keys with which devices register themselves.
type EnrollKeys interface {
	Keys(ctx context.Context) ([]fleet.EnrollKey, error)
	CreateKey(ctx context.Context, wanted fleet.EnrollKey) (text string, key fleet.EnrollKey, err error)
	RevokeKey(ctx context.Context, id string) error
}

// Claims are what devices send to be registered.
type Claims interface {
	Challenge() (text string, until time.Time)
	Enroll(ctx context.Context, keyHash string, claim fleet.DeviceClaim, proof fleet.DeviceProof,
		from enrollment.Source) (fleet.Device, error)
	Renew(ctx context.Context, claim fleet.DeviceClaim, proof fleet.DeviceProof, from enrollment.Source) (fleet.Device,
		error)
}

// EnrollmentHandlers accept and reject devices that ask to be registered.
type EnrollmentHandlers struct {
	*base
	Enrollments Enrollments
}

func (s EnrollmentHandlers) routes(b *base) []route {
	s.base = b
	const all, one = Prefix + "/enrollments", Prefix + "/enrollments/{deviceID}"
	routes := []route{
		{method: http.MethodGet, path: all, name: "listEnrollments",
			summary:    "Devices whose agents ask to be accepted, and those that were rejected, oldest first",
			permission: auth.Read, query: []parameter{searchParam, limitParam, afterParam},
			reply: reflect.TypeFor[[]api.Enrollment](), handle: s.listEnrollments},
		{method: http.MethodGet, path: all + "/counts", name: "countEnrollments",
			summary: "How many devices wait to be accepted, and the bounds", permission: auth.Read,
			reply: reflect.TypeFor[api.EnrollmentCounts](), handle: s.countEnrollments},
		{method: http.MethodPost, path: one + "/accept", name: "acceptEnrollment",
			summary:    "Register a device whose agent asks, or that was rejected, with label and tags",
			permission: auth.ManageEnrollment, body: reflect.TypeFor[api.AcceptEnrollment](),
			reply: reflect.TypeFor[api.Device](), creates: true, onlyCreates: true, conflicts: true,
			handle: s.acceptEnrollment},
		{method: http.MethodPost, path: one + "/reject", name: "rejectEnrollment",
			summary:    "Refuse a device whose agent asks, until it is accepted or the rejection is forgotten",
			permission: auth.ManageEnrollment, conflicts: true, handle: s.rejectEnrollment},
		{method: http.MethodDelete, path: one, name: "forgetEnrollment",
			summary: "Forget a rejection: the device waits again", permission: auth.ManageEnrollment,
			handle: s.forgetEnrollment},
	}
	for i := range routes {
		routes[i].off = s.Enrollments == nil
	}
	return routes
}

func (s EnrollmentHandlers) listEnrollments(r *request) (reply, error) {
	q, err := r.listQuery()
	if err != nil {
		return reply{}, err
	}
	all, err := s.Enrollments.Requests(r.Context())
	if err != nil {
		return reply{}, err
	}
	return showList(r, q, all, listing[fleet.EnrollmentRequest, api.Enrollment]{
		matches: func(asks fleet.EnrollmentRequest) bool {
			return q.holds(asks.Name, string(asks.Device), asks.Address, asks.System)
		},
		cursor: func(asks fleet.EnrollmentRequest) string {
			return strconv.FormatInt(asks.FirstAt.UnixMilli(), 10) + "." + string(asks.Device)
		},
		beyond: beyondEnrollment, wire: wireEnrollment,
	})
}

func beyondEnrollment(cursor string, asks fleet.EnrollmentRequest) (bool, error) {
	at, id, found := strings.Cut(cursor, ".")
	first, err := strconv.ParseInt(at, 10, 64)
	if err != nil || !found {
		return false, errors.New("no cursor of an enrolment")
	}
	place := fleet.EnrollmentRequest{Arrival: fleet.Arrival{Device: fleet.DeviceID(id)}, FirstAt: time.UnixMilli(first)}
	return enrollment.CompareRequests(asks, place) > 0, nil
}

func wireEnrollment(asks fleet.EnrollmentRequest) api.Enrollment {
	return api.Enrollment{DeviceID: string(asks.Device), State: string(asks.Status), Name: asks.Name,
		System: asks.System, Version: asks.Version, Address: asks.Address, APIPort: int64(asks.APIPort),
		FirstSeen: api.Time{Time: asks.FirstAt}, LastSeen: api.Time{Time: asks.LastAt}, RejectedBy: asks.DecidedBy,
		RejectedAt: moment(asks.DecidedAt)}
}

func (s EnrollmentHandlers) countEnrollments(*request) (reply, error) {
	counts := s.Enrollments.Counts()
	return show(api.EnrollmentCounts{Waiting: int64(counts.Waiting), Most: int64(counts.Most),
		PerAddress: int64(counts.PerAddress), TurnedAway: int64(counts.TurnedAway)})
}

func (s EnrollmentHandlers) acceptEnrollment(r *request) (reply, error) {
	id, err := r.deviceID()
	if err != nil {
		return reply{}, err
	}
	body, err := decode[api.AcceptEnrollment](r)
	if err != nil {
		return reply{}, err
	}
	tags, err := each(or(body.Tags, nil), "tags", fleet.ParseTag)
	if err != nil {
		return reply{}, err
	}
	label := strings.TrimSpace(or(body.Label, ""))
	if err := fleet.ValidateLabel(label); err != nil {
		return reply{}, err
	}
	stored, err := s.Enrollments.Accept(r.Context(), id, label, tags)
	if err != nil {
		return reply{}, orNotFound(err, noEnrollment(id))
	}
	return showCreated(r.wireDevice(stored), true, devicePath(id))
}

func noEnrollment(id fleet.DeviceID) error {
	return &fleet.Error{Code: fleet.CodeNotFound,
		Message: "device " + id.Short() + " does not ask to be accepted, or not any more",
		Hint:    "GET " + Prefix + "/enrollments lists all that do.", See: fleet.Reference{Subject: fleet.SeeEnrollments}}
}

func (s EnrollmentHandlers) rejectEnrollment(r *request) (reply, error) {
	id, err := r.deviceID()
	if err != nil {
		return reply{}, err
	}
	return nothing(orNotFound(s.Enrollments.Reject(r.Context(), id), noEnrollment(id)))
}

func (s EnrollmentHandlers) forgetEnrollment(r *request) (reply, error) {
	id, err := r.deviceID()
	if err != nil {
		return reply{}, err
	}
	return nothing(orNotFound(s.Enrollments.Forget(r.Context(), id), &fleet.Error{Code: fleet.CodeNotFound,
		Message: "device " + id.Short() + " was not rejected",
		Hint:    "GET " + Prefix + "/enrollments lists all that were.", See: fleet.Reference{Subject: fleet.SeeEnrollments}}))
}
