package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// givenPage is the default number of answers in one reply.
const givenPage = 1000

// Consents are questions about equal held changes, and their answers.
type Consents interface {
	// HeldGroups returns the held changes that wait now, ordered by key. Equal changes of one rollout are one group.
	HeldGroups(ctx context.Context) ([]fleet.HeldGroup, error)
	// AnswerGroup records an answer and returns the devices that have the change now. Without any it returns conflict.
	AnswerGroup(ctx context.Context, answer fleet.GroupAnswer) ([]fleet.DeviceID, error)
	// GivenConsents returns the newest answers, at most `most`.
	GivenConsents(ctx context.Context, most int) ([]fleet.GivenConsent, error)
}

func (s *server) consentRoutes() []route {
	const path = Prefix + "/consents"
	off := s.Consents == nil
	return []route{
		{method: http.MethodGet, path: path, name: "listConsents",
			summary:    "What waits for an answer now, equal changes of several devices together",
			permission: auth.Read, reply: reflect.TypeFor[[]api.HeldGroup](), off: off, handle: s.listConsents},
		{method: http.MethodPost, path: path, name: "answerConsents",
			summary:    "Answer equal held changes at once; consent to more than a removal needs the role admin",
			permission: auth.Apply, body: reflect.TypeFor[api.AnswerConsents](), reply: reflect.TypeFor[api.AnsweredConsents](),
			volatile: true, conflicts: true, off: off, handle: s.answerConsents},
		{method: http.MethodGet, path: path + "/given", name: "listGivenConsents",
			summary:    "The newest answers and what became of them; 1,000 unless a limit says otherwise",
			permission: auth.Read, query: []parameter{limitParam}, reply: reflect.TypeFor[[]api.GivenConsent](), off: off,
			handle: s.listGivenConsents},
	}
}

func (s *server) listConsents(r *request) (reply, error) {
	return s.held(r.Context(), func(ctx context.Context) (reply, error) {
		registry, err := s.Registry.Registry(ctx)
		if err != nil {
			return reply{}, err
		}
		groups, err := s.groupsFor(ctx)
		if err != nil {
			return reply{}, err
		}
		if err := s.take(ctx, sizeOfGroups(groups)); err != nil {
			return reply{}, err
		}
		shown := make([]api.HeldGroup, len(groups))
		for i, g := range groups {
			shown[i] = wireGroup(g, registry)
		}
		return show(shown)
	})
}

// sizeOfGroups estimates how many bytes of memory answering with the groups needs.
func sizeOfGroups(groups []fleet.HeldGroup) (size int64) {
	const copies, group, device = 3, 1000, 200
	for _, g := range groups {
		size += copies * int64(group+len(g.From)+len(g.To)+device*len(g.Devices))
	}
	return size
}

func wireGroup(g fleet.HeldGroup, registry *fleet.Registry) api.HeldGroup {
	out := api.HeldGroup{Digest: g.Digest, Key: g.Key, From: g.From, To: g.To, Role: string(permissionFor(g).Needs()),
		Reason: named(registry, g.Reason), Rollout: g.Rollout, Answers: []string{}, Templates: g.Templates()}
	if g.Consent {
		out.Answers = append(out.Answers, string(fleet.AnswerConsent))
	}
	if g.Keep {
		out.Answers = append(out.Answers, string(fleet.AnswerKeep))
	}
	ids := make([]fleet.DeviceID, len(g.Devices))
	for i, d := range g.Devices {
		ids[i] = d.Device
	}
	out.Devices = namedDevices(ids, registry)
	return out
}

// permissionFor returns the permission that a consent to the changes of a group needs.
func permissionFor(g fleet.HeldGroup) auth.Permission {
	if g.Removes {
		return auth.Apply
	}
	return auth.Consent
}

func namedDevices(ids []fleet.DeviceID, registry *fleet.Registry) []api.NamedDevice {
	all := make([]api.NamedDevice, len(ids))
	for i, id := range ids {
		all[i] = api.NamedDevice{DeviceID: string(id), Label: registry.Label(id)}
	}
	return all
}

func (s *server) answerConsents(r *request) (reply, error) {
	answer, err := groupAnswer(r)
	if err != nil {
		return reply{}, err
	}
	groups, err := s.groupsFor(r.Context())
	if err != nil {
		return reply{}, err
	}
	// The digest covers key, class and values, so AnswerGroup answers the group that was checked here, or finds none.
	i := slices.IndexFunc(groups, func(g fleet.HeldGroup) bool { return g.Digest == answer.Digest })
	if i < 0 {
		return reply{}, noSuchGroup()
	}
	g := groups[i]
	if !r.who.Scope.Whole() {
		answer.Devices = insideGroup(groups, answer)
		if len(answer.Devices) == 0 {
			return reply{}, noSuchGroup()
		}
	}
	if answer.Answer == fleet.AnswerConsent && !r.who.May(permissionFor(g)) {
		return reply{}, roleMissing(r.who, permissionFor(g), "may not consent to "+g.Key+": "+g.Reason)
	}
	detail := string(answer.Answer)
	if answer.Rollout != 0 {
		detail = fmt.Sprintf("%s, for rollout %d", answer.Answer, answer.Rollout)
	}
	if err := s.record(r, "consents.answer", g.Key, detail); err != nil {
		return reply{}, err
	}
	devices, err := s.Consents.AnswerGroup(r.Context(), answer)
	if err != nil {
		return reply{}, err
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	return show(api.AnsweredConsents{Digest: g.Digest, Key: g.Key, Answer: string(answer.Answer), Rollout: answer.Rollout,
		Devices: namedDevices(devices, registry), Next: afterAnswer(answer)})
}

func noSuchGroup() error {
	return &fleet.Error{Code: fleet.CodeConflict, Message: "no device has a held change with this digest now",
		Hint: "GET " + Prefix + "/consents lists what waits: answer that."}
}

// groupsFor returns the groups as the caller may see them.
func (s *server) groupsFor(ctx context.Context) ([]fleet.HeldGroup, error) {
	groups, err := s.Consents.HeldGroups(ctx)
	if err != nil || fleet.ScopeIn(ctx).Whole() {
		return groups, err
	}
	inside, err := s.insideOf(ctx)
	if err != nil {
		return nil, err
	}
	seen := []fleet.HeldGroup{}
	for _, g := range groups {
		g.Devices = slices.DeleteFunc(slices.Clone(g.Devices), func(d fleet.HeldDevice) bool { return !inside(d.Device) })
		if !inside(g.Of) { // Values and reason may name devices that share with this one.
			note, _ := json.Marshal(elsewhere) // A constant string always encodes.
			g.From, g.To, g.Reason = note, note, elsewhere
		}
		if len(g.Devices) > 0 {
			seen = append(seen, g)
		}
	}
	return seen, nil
}

// elsewhere replaces values that were found on a device outside of a caller's scope.
const elsewhere = "GET devices/{deviceID}/plan of one of the devices shows what would be changed, and why"

// insideGroup returns the devices for which a caller with a scope answers: only devices that the caller sees. Such an
// answer never applies to members of the rollout that get the change later.
func insideGroup(groups []fleet.HeldGroup, answer fleet.GroupAnswer) (meant []fleet.DeviceID) {
	for _, g := range groups {
		if g.Digest != answer.Digest {
			continue
		}
		for _, d := range g.Devices {
			if len(answer.Devices) == 0 || slices.Contains(answer.Devices, d.Device) {
				meant = append(meant, d.Device)
			}
		}
	}
	return meant
}

// groupAnswer parses the body of an answer.
func groupAnswer(r *request) (fleet.GroupAnswer, error) {
	body, err := decode[api.AnswerConsents](r)
	if err != nil {
		return fleet.GroupAnswer{}, err
	}
	if err := missing(map[string]bool{"digest": body.Digest == nil, "answer": body.Answer == nil}); err != nil {
		return fleet.GroupAnswer{}, err
	}
	answer := fleet.GroupAnswer{Digest: *body.Digest, Answer: fleet.Answer(*body.Answer),
		Rollout: body.Rollout, Template: body.Template}
	if answer.Answer != fleet.AnswerConsent && answer.Answer != fleet.AnswerKeep {
		return answer, fleet.Invalidf("answer", "an answer is consent or keep")
	}
	for _, text := range body.Devices {
		id, err := fleet.ParseDeviceID(text)
		if err != nil {
			return answer, at("devices", err)
		}
		answer.Devices = append(answer.Devices, id)
	}
	return answer, nil
}

// afterAnswer says what happens after an answer, for people.
func afterAnswer(a fleet.GroupAnswer) string {
	next := "The changes are sent now"
	if a.Answer == fleet.AnswerKeep {
		next = "What is there becomes what Muster leaves alone"
	}
	next += "; a device that cannot be reached follows when it can, within a day of being reached."
	if a.Rollout != 0 && len(a.Devices) == 0 && a.Template == 0 {
		next += fmt.Sprintf(" Members of rollout %d that get the same change later use the answer too.", a.Rollout)
	}
	return next + " GET " + Prefix + "/consents/given shows what became of it."
}

func (s *server) listGivenConsents(r *request) (reply, error) {
	q, err := r.listQuery()
	if err != nil {
		return reply{}, err
	}
	if q.limit == 0 {
		q.limit = givenPage
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	given, err := s.givenFor(r.Context(), q.limit)
	if err != nil {
		return reply{}, err
	}
	shown := make([]api.GivenConsent, len(given))
	for i, c := range given {
		shown[i] = wireGiven(c, registry)
	}
	return show(shown)
}

// givenFor returns the newest answers for devices that the caller sees, at most `most`.
func (s *server) givenFor(ctx context.Context, most int) ([]fleet.GivenConsent, error) {
	if fleet.ScopeIn(ctx).Whole() {
		return s.Consents.GivenConsents(ctx, most)
	}
	inside, err := s.insideOf(ctx)
	if err != nil {
		return nil, err
	}
	given, err := s.Consents.GivenConsents(ctx, maxListLimit)
	given = slices.DeleteFunc(given, func(c fleet.GivenConsent) bool { return !inside(c.Device) })
	return given[:min(most, len(given))], err
}

func wireGiven(c fleet.GivenConsent, registry *fleet.Registry) api.GivenConsent {
	state := "open"
	switch {
	case c.Used:
		state = "used"
	case !c.Closed.IsZero():
		state = "closed"
	}
	return api.GivenConsent{ID: c.ID, DeviceID: string(c.Device), Label: registry.Label(c.Device), Key: c.Key,
		Answer: string(c.Answer), State: state, Rollout: c.Rollout, By: c.By, At: api.Time{Time: c.At},
		Until:    api.Time{Time: c.Until},
		ClosedAt: moment(c.Closed), Intent: c.Intent}
}
