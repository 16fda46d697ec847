package view

import (
	"context"
	"slices"

	"muster/internal/fleet"
)

// maxGiven is how many given consents are read for a caller with a tag scope.
const maxGiven = 100_000

// ConsentSource keeps questions about equal held changes of the whole fleet, and their answers.
type ConsentSource interface {
	// HeldGroups returns the held changes that wait now, ordered by key. Equal changes of one rollout are one group.
	HeldGroups(ctx context.Context) ([]fleet.HeldGroup, error)
	// AnswerGroup records an answer for what was shown and still waits. Without any such change it returns conflict.
	AnswerGroup(ctx context.Context, answer fleet.GroupAnswer) (fleet.GroupAnswered, error)
	// GivenConsents returns the newest answers, at most `most`.
	GivenConsents(ctx context.Context, most int) ([]fleet.GivenConsent, error)
}

// ConsentOptions say where Consents read and write.
type ConsentOptions struct {
	Source   ConsentSource
	Registry func(context.Context) (*fleet.Registry, error) // the part in the caller's scope
}

// Consents are the held changes and the answers to them as each caller may know them.
type Consents struct{ ConsentOptions }

// NewConsents gives the consents of a source.
func NewConsents(o ConsentOptions) *Consents { return &Consents{o} }

// Held are the held changes that wait now.
func (s *Consents) Held(ctx context.Context) ([]fleet.HeldGroup, error) {
	groups, err := s.Source.HeldGroups(ctx)
	if err != nil || fleet.ScopeIn(ctx).Whole() {
		return groups, err
	}
	inside, err := InsideOf(ctx, s.Registry)
	if err != nil {
		return nil, err
	}
	return PartOfHeld(groups, inside), nil
}

// Asked is the group that an answer is for, and the part of the answer that the caller may give. It is not_found where
// no such group waits now. The digest covers key, class and values: what Answer answers is the group that is returned
// here, or none.
func (s *Consents) Asked(ctx context.Context, answer fleet.GroupAnswer) (fleet.GroupAnswer, fleet.HeldGroup, error) {
	inside, err := InsideOf(ctx, s.Registry)
	if err != nil {
		return answer, fleet.HeldGroup{}, err
	}
	if answer, err = PartOfAnswer(answer, fleet.ScopeIn(ctx).Whole(), inside); err != nil {
		return answer, fleet.HeldGroup{}, err
	}
	groups, err := s.Held(ctx)
	if err != nil {
		return answer, fleet.HeldGroup{}, err
	}
	i := slices.IndexFunc(groups, func(g fleet.HeldGroup) bool { return g.Digest == answer.Digest })
	if i < 0 {
		return answer, fleet.HeldGroup{}, fleet.NotFoundf("no device has a held change with this digest now")
	}
	return answer, groups[i], nil
}

// Answer records an answer that Asked returned.
func (s *Consents) Answer(ctx context.Context, answer fleet.GroupAnswer) (fleet.GroupAnswered, error) {
	inside, err := InsideOf(ctx, s.Registry)
	if err != nil {
		return fleet.GroupAnswered{}, err
	}
	done, err := s.Source.AnswerGroup(ctx, answer)
	done.Waiting = PartOfHeldChanges(done.Waiting, inside)
	return done, err
}

// Given are the newest answers, at most `most`.
func (s *Consents) Given(ctx context.Context, most int) ([]fleet.GivenConsent, error) {
	if fleet.ScopeIn(ctx).Whole() {
		return s.Source.GivenConsents(ctx, most)
	}
	inside, err := InsideOf(ctx, s.Registry)
	if err != nil {
		return nil, err
	}
	given, err := s.Source.GivenConsents(ctx, maxGiven)
	given = slices.DeleteFunc(given, func(c fleet.GivenConsent) bool { return !inside(c.Device) })
	return given[:min(most, len(given))], err
}

// PartOfHeld are groups of held changes as a caller with a tag scope sees them: without the devices outside.
func PartOfHeld(groups []fleet.HeldGroup, inside func(fleet.DeviceID) bool) []fleet.HeldGroup {
	part := []fleet.HeldGroup{}
	for _, g := range groups {
		if g.Changes = PartOfHeldChanges(g.Changes, inside); len(g.Changes) > 0 {
			part = append(part, g)
		}
	}
	return part
}

// PartOfHeldChanges are the changes of devices inside.
func PartOfHeldChanges(changes []fleet.HeldChange, inside func(fleet.DeviceID) bool) []fleet.HeldChange {
	return slices.DeleteFunc(slices.Clone(changes), func(c fleet.HeldChange) bool { return !inside(c.Device) })
}

// PartOfAnswer is an answer without the devices that the caller does not see. It is forbidden for a caller with a tag
// scope to answer for a whole rollout, because nobody has shown them all of its members.
func PartOfAnswer(a fleet.GroupAnswer, whole bool, inside func(fleet.DeviceID) bool) (fleet.GroupAnswer, error) {
	if whole {
		return a, nil
	}
	if a.WholeRollout != 0 {
		return a, &fleet.Error{Code: fleet.CodeForbidden,
			Message: "an answer for a whole rollout is also for devices outside the tags of this caller",
			Hint:    "Answer without wholeRollout, for the changes that are shown."}
	}
	a.Shown = slices.DeleteFunc(slices.Clone(a.Shown), func(c fleet.ShownChange) bool { return !inside(c.Device) })
	return a, nil
}
