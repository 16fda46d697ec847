package view

import (
	"context"
	"slices"

	"muster/internal/fleet"
)

// maxGiven is how many given consents are read for a caller with a tag scope.
const maxGiven = 100_000

// ConsentSource stores the held changes of the whole fleet in groups of equal ones, and the answers to them.
type ConsentSource interface {
	// HeldGroups returns the held changes that wait now, ordered by key. Equal changes of one rollout are one group.
	HeldGroups(ctx context.Context) ([]fleet.HeldGroup, error)
	// AnswerGroup records an answer to the changes that were shown and still wait. It returns conflict when none of them
	// waits any more.
	AnswerGroup(ctx context.Context, answer fleet.GroupAnswer) (fleet.GroupAnswered, error)
	// GivenConsents returns the newest answers, at most `most`.
	GivenConsents(ctx context.Context, most int) ([]fleet.GivenConsent, error)
}

// ConsentOptions say where Consents read and write.
type ConsentOptions struct {
	Source   ConsentSource
	Registry func(context.Context) (*fleet.Registry, error) // the part in the caller's scope
}

// Consents shows each caller the part of the held changes and answers that is in the caller's scope.
type Consents struct{ ConsentOptions }

// NewConsents makes the Consents of a source.
func NewConsents(o ConsentOptions) *Consents { return &Consents{o} }

// Held returns the held changes that wait now.
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

// Asked returns the group that an answer names, and the part of the answer that the caller may give. It returns
// not_found when no such group waits now. The digest of the answer covers key, class and values, so Answer cannot
// answer a different group.
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

// Given returns the newest answers, at most `most`.
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

// PartOfHeld returns groups of held changes without the devices outside of the caller's scope.
func PartOfHeld(groups []fleet.HeldGroup, inside func(fleet.DeviceID) bool) []fleet.HeldGroup {
	part := []fleet.HeldGroup{}
	for _, g := range groups {
		if g.Changes = PartOfHeldChanges(g.Changes, inside); len(g.Changes) > 0 {
			part = append(part, g)
		}
	}
	return part
}

// PartOfHeldChanges returns the changes of the devices for which inside is true.
func PartOfHeldChanges(changes []fleet.HeldChange, inside func(fleet.DeviceID) bool) []fleet.HeldChange {
	return slices.DeleteFunc(slices.Clone(changes), func(c fleet.HeldChange) bool { return !inside(c.Device) })
}

// PartOfAnswer returns an answer without the devices that the caller does not see. A caller with a tag scope may not
// answer for a whole rollout, because nobody has shown them all of its members.
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
