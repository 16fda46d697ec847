package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strconv"

	"muster/api"
	"muster/internal/core/plan"
	"muster/internal/core/stconfig"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// Revisions are the configurations that a device was seen with. One that was never seen, or is kept no more, is
// not_found.
type Revisions interface {
	// Revisions are all of a device, newest first, without their documents.
	Revisions(ctx context.Context, id fleet.DeviceID) ([]fleet.Revision, error)
	// MaskedRevision is one with its document, every secret masked already.
	MaskedRevision(ctx context.Context, id fleet.DeviceID, number int64) (fleet.Revision, Document, error)
	// Compare says what leads from one to another, secrets masked already.
	Compare(ctx context.Context, id fleet.DeviceID, from, to int64) ([]stconfig.Change, error)
	// Restore brings the device back to one, through plan and guard. While a change is held without consent, nothing is
	// done.
	Restore(ctx context.Context, id fleet.DeviceID, number int64, request plan.RestoreRequest) (plan.Restored, error)
}

// RevisionHandlers show, compare and restore configurations.
type RevisionHandlers struct {
	*base
	Revisions Revisions
}

func (s RevisionHandlers) routes(b *base) []route {
	s.base = b
	const all, one = Prefix + "/devices/{deviceID}/revisions", Prefix + "/devices/{deviceID}/revisions/{number}"
	off := s.Revisions == nil
	return []route{
		{
			method: http.MethodGet, path: all, name: "listRevisions", permission: auth.Read,
			summary: "Configurations that the device was seen with, newest first",
			query:   []parameter{limitParam, afterParam}, reply: reflect.TypeFor[[]api.Revision](),
			off: off, handle: s.ofDevice(s.listRevisions),
		},
		{
			method: http.MethodGet, path: one, name: "getRevision", permission: auth.Read,
			summary: "One of them, secrets masked", reply: reflect.TypeFor[api.RevisionDetail](),
			off: off, handle: s.getRevision,
		},
		{
			method: http.MethodGet, path: one + "/diff/{other}", name: "compareRevisions", permission: auth.Read,
			summary: "What leads from one to another", reply: reflect.TypeFor[api.RevisionDiff](),
			off: off, handle: s.compareRevisions,
		},
		{
			method: http.MethodPost, path: one + "/restore", name: "restoreRevision", permission: auth.Apply,
			summary: "Bring the device, or a section of its configuration, back to it, through plan and guard",
			body:    reflect.TypeFor[api.Restore](), reply: reflect.TypeFor[api.Restored](),
			volatile: true, conflicts: true, off: off, handle: s.restoreRevision,
		},
	}
}

func (s RevisionHandlers) listRevisions(r *request, device *fleet.Registered) (reply, error) {
	q, err := r.listQuery()
	if err != nil {
		return reply{}, err
	}
	revisions, err := s.Revisions.Revisions(r.Context(), device.ID)
	if err != nil {
		return reply{}, err
	}
	return showList(r, q, revisions, newestFirst(func(one fleet.Revision) int64 { return one.Number }, wireRevision))
}

func (s RevisionHandlers) getRevision(r *request) (reply, error) {
	device, number, err := s.revision(r)
	if err != nil {
		return reply{}, err
	}
	return s.held(r.Context(), func(ctx context.Context) (reply, error) {
		revision, config, err := s.Revisions.MaskedRevision(ctx, device.ID, number)
		if err != nil {
			return reply{}, noRevision(device.ID, number, err)
		}
		return showStream(withMember(wireRevision(revision), "config", config))
	})
}

func (s RevisionHandlers) compareRevisions(r *request) (reply, error) {
	device, from, err := s.revision(r)
	if err != nil {
		return reply{}, err
	}
	to, err := r.number("other")
	if err != nil {
		return reply{}, err
	}
	return s.held(r.Context(), func(ctx context.Context) (reply, error) {
		changes, err := s.Revisions.Compare(ctx, device.ID, from, to)
		if err != nil {
			return reply{}, noRevision(device.ID, 0, err)
		}
		return showStream(withMember(revisionEnds{from, to}, "changes", oneByOne(changes, wireChange)))
	})
}

// revisionEnds is an api.RevisionDiff without its changes.
type revisionEnds struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

func wireChange(change stconfig.Change) api.KeyChange {
	return api.KeyChange{Key: change.Key.String(), From: change.From.JSON(), To: change.To.JSON()}
}

func (s RevisionHandlers) restoreRevision(r *request) (reply, error) {
	device, number, err := s.revision(r)
	if err != nil {
		return reply{}, err
	}
	body, err := decode[api.Restore](r)
	if err != nil {
		return reply{}, err
	}
	if err := missing(map[string]bool{"digest": len(body.Consent) > 0 && body.Digest == nil}); err != nil {
		return reply{}, err
	}
	request := plan.RestoreRequest{Section: or(body.Section, ""), Digest: or(body.Digest, ""), Consent: body.Consent,
		Preview: body.Preview}
	if body.Preview {
		return s.previewRestore(r, device.ID, number, request)
	}
	detail := "revision " + strconv.FormatInt(number, 10)
	if request.Section != "" {
		detail += ", " + request.Section
	}
	if len(body.Consent) > 0 {
		detail += "; " + answersText(api.ApplyPlan{Consent: body.Consent})
		if over, err := s.mayRestore(r, device.ID, number, request); err != nil || over.body != nil {
			return over, err
		}
	}
	if err := s.record(r, "device.restore", string(device.ID), detail); err != nil {
		return reply{}, err
	}
	restored, err := s.Revisions.Restore(r.Context(), device.ID, number, request)
	if err != nil {
		return reply{}, noRevision(device.ID, number, err)
	}
	return s.showRestored(r, restored)
}

// previewRestore answers what a restore would change. Nothing is sent, so nothing is recorded.
func (s RevisionHandlers) previewRestore(
	r *request,
	id fleet.DeviceID,
	number int64,
	request plan.RestoreRequest,
) (reply, error) {
	if len(request.Consent) > 0 {
		return reply{}, fleet.Invalidf("consent", "a preview sends nothing: it needs no consent")
	}
	seen, err := s.Revisions.Restore(r.Context(), id, number, request)
	if err != nil {
		return reply{}, noRevision(id, number, err)
	}
	return s.showRestored(r, seen)
}

// mayRestore checks that a user may consent to what they name, on the plan that a restore without consent gives:
// while something is held, that one does nothing. The reply is there when nothing was held and it is done.
func (s RevisionHandlers) mayRestore(
	r *request,
	id fleet.DeviceID,
	number int64,
	request plan.RestoreRequest,
) (reply, error) {
	if r.who.May(auth.Consent) {
		return reply{}, nil
	}
	asked := request
	asked.Consent = nil
	seen, err := s.Revisions.Restore(r.Context(), id, number, asked)
	if err != nil {
		return reply{}, noRevision(id, number, err)
	}
	if seen.Done {
		return s.showRestored(r, seen)
	}
	return reply{}, at("consent", r.who.MayConsent(seen.Plan.Changes, request.Consent))
}

func (s RevisionHandlers) showRestored(r *request, restored plan.Restored) (reply, error) {
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	return s.held(r.Context(), func(ctx context.Context) (reply, error) {
		if err := s.takeFor(ctx, slices.Concat(restored.Plan.Changes, restored.Left)); err != nil {
			return reply{}, err
		}
		return show(api.Restored{
			Plan: wirePlan(restored.Plan, registry), Done: restored.Done, Left: wireChanges(restored.Left, registry),
			Reason: named(registry, restored.Reason), Next: named(registry, restored.Next),
		})
	})
}

// revision is the device and the number of the path.
func (s RevisionHandlers) revision(r *request) (*fleet.Registered, int64, error) {
	device, err := s.registered(r)
	if err != nil {
		return nil, 0, err
	}
	number, err := r.number("number")
	return device, number, err
}

// noRevision says where the revisions are when there is none of that number; 0: one of two.
func noRevision(id fleet.DeviceID, number int64, err error) error {
	if fleet.CodeOf(err) != fleet.CodeNotFound {
		return err
	}
	which := "one of these revisions"
	if number > 0 {
		which = "revision " + strconv.FormatInt(number, 10)
	}
	return &fleet.Error{
		Code: fleet.CodeNotFound, Message: which + " of the device was never seen, or is kept no more",
		Hint: "GET " + devicePath(id) + "/revisions lists those that are there.", Err: err,
		See: fleet.Reference{Subject: fleet.SeeRevisions, ID: string(id)},
	}
}

func wireRevision(one fleet.Revision) api.Revision {
	return api.Revision{Number: one.Number, Digest: one.Digest, Cause: one.Cause, SeenAt: api.Time{Time: one.SeenAt}}
}
