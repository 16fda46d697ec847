package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// givenPage is the default number of answers in one reply.
const givenPage = 1000

// Consents are questions about equal held changes and their answers, as the caller of a context may know them; see
// view.Consents.
type Consents interface {
	// Held are the held changes that wait now, ordered by key. Equal changes of one rollout are one group.
	Held(ctx context.Context) ([]fleet.HeldGroup, error)
	// Asked is the group that an answer is for, and the part of the answer that the caller may give. It is not_found where
	// no such group waits now.
	Asked(ctx context.Context, answer fleet.GroupAnswer) (fleet.GroupAnswer, fleet.HeldGroup, error)
	// Answer records an answer that Asked returned. Where what it answers waits no more it returns conflict.
	Answer(ctx context.Context, answer fleet.GroupAnswer) (fleet.GroupAnswered, error)
	// Given are the newest answers, at most `most`.
	Given(ctx context.Context, most int) ([]fleet.GivenConsent, error)
}

// ConsentHandlers ask for consents and take them.
type ConsentHandlers struct {
	*base
	Consents Consents
}

func (s ConsentHandlers) routes(b *base) []route {
	s.base = b
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

func (s ConsentHandlers) listConsents(r *request) (reply, error) {
	return s.held(r.Context(), func(ctx context.Context) (reply, error) {
		registry, err := s.Registry.Registry(ctx)
		if err != nil {
			return reply{}, err
		}
		groups, err := s.Consents.Held(ctx)
		if err != nil {
			return reply{}, err
		}
		if err := s.take(ctx, sizeOfGroups(groups)); err != nil {
			return reply{}, err
		}
		return show(mapped(groups, func(g fleet.HeldGroup) api.HeldGroup { return wireGroup(g, registry) }))
	})
}

// sizeOfGroups estimates how many bytes of memory answering with the groups needs.
func sizeOfGroups(groups []fleet.HeldGroup) (size int64) {
	const copies, group, change, name = 3, 1000, 500, 100
	for _, g := range groups {
		size += copies * group
		for _, c := range g.Changes {
			size += copies * int64(change+len(c.From)+len(c.To)+len(c.Reason)+name*len(c.Names.Devices))
		}
	}
	return size
}

func wireGroup(g fleet.HeldGroup, registry *fleet.Registry) api.HeldGroup {
	out := api.HeldGroup{Digest: g.Digest, Key: g.Key, Alike: g.Alike(), Role: string(auth.ToConsent(g).Needs()),
		Removes: g.Removes, Rollout: g.Rollout, Answers: []string{}, Choices: wireChoices(g.Choices),
		Templates:   append([]int64{}, g.Templates...),
		Summary:     wireSentences(view.SentencesOfHeld(g, registry.Label)),
		DeviceCount: len(g.Devices()), Changes: make([]api.HeldChange, len(g.Changes))}
	if g.Consent {
		out.Answers = append(out.Answers, string(fleet.AnswerConsent))
	}
	if g.Keep {
		out.Answers = append(out.Answers, string(fleet.AnswerKeep))
	}
	if len(g.Choices) > 0 {
		out.Answers = append(out.Answers, answerValue)
	}
	for i, c := range g.Changes {
		out.Changes[i] = wireHeldChange(c, registry)
	}
	return out
}

func wireHeldChange(c fleet.HeldChange, registry *fleet.Registry) api.HeldChange {
	return api.HeldChange{DeviceID: string(c.Device), Label: registry.Label(c.Device), Digest: c.Digest, Key: c.Key,
		From: c.From, To: c.To, Reason: named(registry, c.Reason), Names: api.ChangeNames{
			Devices: namedDevices(c.Names.Devices, registry), Folders: append([]string{}, c.Names.Folders...),
			Paths: append([]string{}, c.Names.Paths...)}}
}

func namedDevices(ids []fleet.DeviceID, registry *fleet.Registry) []api.NamedDevice {
	all := make([]api.NamedDevice, len(ids))
	for i, id := range ids {
		all[i] = api.NamedDevice{DeviceID: string(id), Label: registry.Label(id)}
	}
	return all
}

func (s ConsentHandlers) answerConsents(r *request) (reply, error) {
	answer, err := groupAnswer(r)
	if err != nil {
		return reply{}, err
	}
	answer, g, err := s.Consents.Asked(r.Context(), answer)
	if err != nil {
		return reply{}, orNotFound(err, noSuchGroup())
	}
	if needs := auth.ToConsent(g); answer.Answer != fleet.AnswerKeep && !r.who.May(needs) {
		return reply{}, r.who.Lacks(needs, "may not consent to "+g.Key+": "+g.Changes[0].Reason)
	}
	detail := fmt.Sprintf("%s, %d shown", answer.Answer, len(answer.Shown))
	if answer.WholeRollout != 0 {
		detail += fmt.Sprintf(", and all of rollout %d", answer.WholeRollout)
	}
	if err := s.record(r, "consents.answer", g.Key, detail); err != nil {
		return reply{}, err
	}
	done, err := s.Consents.Answer(r.Context(), answer)
	if err != nil {
		return reply{}, err
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	return show(wireAnswered(answer, done, registry))
}

func wireAnswered(a fleet.GroupAnswer, done fleet.GroupAnswered, registry *fleet.Registry) api.AnsweredConsents {
	keys := func(changes []fleet.HeldChange) []api.AnsweredKey {
		all := make([]api.AnsweredKey, len(changes))
		for i, c := range changes {
			all[i] = api.AnsweredKey{DeviceID: string(c.Device), Label: registry.Label(c.Device), Key: c.Key}
		}
		return all
	}
	word, value := wireAnswer(a.Answer)
	return api.AnsweredConsents{Digest: a.Digest, Key: done.Key, Answer: word, Value: value, Rollout: a.WholeRollout,
		NotShown: done.NotShown, Devices: namedDevices(fleet.DevicesOf(done.Changes), registry),
		Changes: keys(done.Changes), Waiting: keys(done.Waiting),
		Gone: mapped(done.Gone, func(id fleet.DeviceID) string { return string(id) }), Next: afterAnswer(a, done)}
}

func noSuchGroup() error {
	return &fleet.Error{Code: fleet.CodeConflict, Message: "no device has a held change with this digest now",
		Hint: "GET " + Prefix + "/consents lists what waits: answer that.",
		See:  fleet.Reference{Subject: fleet.SeeConsents}}
}

// groupAnswer parses the body of an answer.
func groupAnswer(r *request) (fleet.GroupAnswer, error) {
	body, err := decode[api.AnswerConsents](r)
	if err != nil {
		return fleet.GroupAnswer{}, err
	}
	if err := missing(map[string]bool{"digest": body.Digest == nil, "answer": body.Answer == nil,
		"shown": len(body.Shown) == 0}); err != nil {
		return fleet.GroupAnswer{}, err
	}
	answer := fleet.GroupAnswer{Digest: *body.Digest, Answer: fleet.Answer(*body.Answer)}
	chooses := *body.Answer == answerValue
	if chooses {
		answer.Answer = fleet.AnswerValue(body.Value)
	}
	switch {
	case chooses && body.Value == "":
		return answer, fleet.Invalidf("value", "the answer value names the value: choices has those that are offered")
	case !chooses && body.Value != "":
		return answer, fleet.Invalidf("value", "only the answer value names a value")
	case !chooses && answer.Answer != fleet.AnswerConsent && answer.Answer != fleet.AnswerKeep:
		return answer, fleet.Invalidf("answer", "an answer is consent, keep or value")
	case body.WholeRollout && body.Rollout <= 0:
		return answer, fleet.Invalidf("rollout", "an answer for a whole rollout names the rollout")
	case body.WholeRollout:
		answer.WholeRollout = body.Rollout
	case body.Rollout != 0:
		return answer, fleet.Invalidf("rollout", "only an answer with wholeRollout names a rollout: without it the answer "+
			"is for what was shown")
	}
	answer.Shown, err = shownChanges(body.Shown)
	return answer, err
}

// shownChanges parses the changes that a person was shown.
func shownChanges(body []api.ShownChange) (shown []fleet.ShownChange, err error) {
	for _, one := range body {
		id, err := fleet.ParseDeviceID(one.DeviceID)
		if err != nil {
			return nil, at("shown", err)
		}
		if one.Digest == "" {
			return nil, fleet.Invalidf("shown", "each change that was shown has a digest")
		}
		shown = append(shown, fleet.ShownChange{Device: id, Digest: one.Digest})
	}
	return shown, nil
}

// answerValue is the word on the wire for an answer that chooses a value by name.
const answerValue = "value"

// wireAnswer returns the word of an answer and, where it chooses a value, the name of that value.
func wireAnswer(answer fleet.Answer) (word, value string) {
	if name := answer.Choice(); name != "" {
		return answerValue, name
	}
	return string(answer), ""
}

// afterAnswer says what happens after an answer, for people.
func afterAnswer(a fleet.GroupAnswer, done fleet.GroupAnswered) string {
	next := "The changes are sent now"
	if a.Answer == fleet.AnswerKeep {
		next = "What is there becomes what Muster leaves alone"
	} else if name := a.Answer.Choice(); name != "" {
		next = fmt.Sprintf("The value %q is sent now", name)
	}
	next += "; a device that cannot be reached follows when it can, within a day of being reached."
	if a.WholeRollout != 0 {
		next += fmt.Sprintf(" Members of rollout %d use the answer for equal changes, now and later; %d of them were not "+
			"shown.", a.WholeRollout, done.NotShown)
	}
	if waiting := len(fleet.DevicesOf(done.Waiting)); waiting > 0 {
		next += fmt.Sprintf(" %d more of the group joined or have another change by now, and wait for an answer.", waiting)
	}
	if len(done.Gone) > 0 {
		next += fmt.Sprintf(" Deleted meanwhile, and not answered for: %s.", strings.Join(mapped(done.Gone,
			fleet.DeviceID.Short), ", "))
	}
	return next + " `muster consent list --given` shows what became of it."
}

func (s ConsentHandlers) listGivenConsents(r *request) (reply, error) {
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
	given, err := s.Consents.Given(r.Context(), q.limit)
	if err != nil {
		return reply{}, err
	}
	return show(mapped(given, func(c fleet.GivenConsent) api.GivenConsent { return wireGiven(c, registry) }))
}

func wireGiven(c fleet.GivenConsent, registry *fleet.Registry) api.GivenConsent {
	answer, value := wireAnswer(c.Answer)
	return api.GivenConsent{ID: c.ID, DeviceID: string(c.Device), Label: registry.Label(c.Device), Key: c.Key,
		Answer: answer, Value: value, State: string(c.State()), Rollout: c.Rollout, By: c.By, At: api.Time{Time: c.At},
		Until:    api.Time{Time: c.Until},
		ClosedAt: moment(c.Closed), Intent: c.Intent}
}
