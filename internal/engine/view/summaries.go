package view

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"muster/internal/fleet"
)

// SummaryOptions are the sources of Summaries. A nil source means that this server does not have that part.
type SummaryOptions struct {
	Registry    func(context.Context) (*fleet.Registry, error) // The part in the caller's scope.
	View        *View
	Rollouts    *Rollouts
	Held        func(context.Context) ([]fleet.HeldGroup, error) // What the caller may see.
	Pending     func() []fleet.Pending
	Enrollments func(context.Context) ([]fleet.EnrollmentRequest, error)
	// Shown returns the certificate that a device showed last.
	Shown func(fleet.DeviceID) fleet.Shown
	// DatedStop adds to a mode who set it and when, if known.
	DatedStop   func(context.Context, fleet.ModeStop) fleet.ModeStop
	Impairments func() []fleet.Impairment
	Visited     func() int // devices that are visited in turn instead of followed
}

// Notifications is the state of the notifications. The caller passes it in, because notifications use the view and
// the view must not use them.
type Notifications struct {
	Problems  []fleet.DeviceID // One for each problem that is notifications of; "": it is about no device.
	Receivers []fleet.Receiver
}

// Summaries sums up the fleet for one caller at a time: the overview, what waits for a person, and what prevents
// Muster from writing. It leaves out everything outside of the caller's scope.
type Summaries struct{ SummaryOptions }

// NewSummaries makes the Summaries of these sources.
func NewSummaries(o SummaryOptions) *Summaries { return &Summaries{o} }

// Overview sums up the devices that picks accepts, and the service as far as the caller may know it. A nil picks
// accepts all devices.
func (s *Summaries) Overview(
	ctx context.Context,
	picks func(*fleet.Registered) bool,
	notifications Notifications,
) (Overview, error) {
	from, err := s.overviewSources(ctx, picks)
	if err != nil {
		return Overview{}, err
	}
	from.Problems = notifications.Problems
	out := OverviewOf(from)
	out.Troubles = slices.Clone(out.Troubles) // all readers have the same
	for i := range out.Troubles {
		s.explain(ctx, from.Registry, &out.Troubles[i])
	}
	out.Tags = ofRegistry(ctx, s.View, from.Registry, "number of tags", func() int { return len(from.Registry.Tags()) })
	if fleet.ScopeIn(ctx).Whole() {
		out.Receivers = notifications.Receivers
		if s.Visited != nil {
			out.Visited = s.Visited()
		}
	}
	return out, nil
}

func (s *Summaries) overviewSources(ctx context.Context, picks func(*fleet.Registered) bool) (from OverviewSources,
	err error) {
	from.Mode = s.View.Mode
	if from.Registry, err = s.Registry(ctx); err != nil {
		return from, err
	}
	from.Inside = inside(ctx, from.Registry)
	if picks == nil {
		if from.Counts, err = s.View.Counts(ctx, from.Registry); err != nil {
			return from, err
		}
		from.Attention, err = s.View.Attention(ctx, from.Registry)
	} else {
		from.Inside = func(id fleet.DeviceID) bool {
			device := from.Registry.Devices[id]
			return device != nil && picks(device)
		}
		from.Counts, from.Attention, err = s.View.Among(ctx, from.Registry, picks)
	}
	if err != nil {
		return from, err
	}
	from.Stops = s.View.Stops(ctx, from.Registry)
	if s.Rollouts != nil {
		from.Rollouts, err = s.Rollouts.Rollouts(ctx)
		// Everything else is in memory, and people need it most while the database is away.
		if fleet.CodeOf(err) == fleet.CodeUnavailable {
			unread := unreadableRollouts(err)
			unread.Blocking = false // the server is ready without rollouts
			from.Impairments, err = append(from.Impairments, unread), nil
		}
		if err != nil {
			return from, err
		}
	}
	if s.Pending != nil {
		from.Pending = s.Pending()
	}
	from.Impairments = append(from.Impairments, s.impairments(ctx)...)
	return from, nil
}

// explain sets the reason and the next step of a kind of trouble, those of the device where the trouble has lasted
// longest. The texts of the cause itself are about several devices.
func (s *Summaries) explain(ctx context.Context, registry *fleet.Registry, t *Trouble) {
	text := fleet.WaitTexts[t.Cause]
	t.Reason, t.Next = text.Reason, text.Next
	if t.First == nil {
		return
	}
	reason, next := "", ""
	if t.Cause.OfFolder() {
		reason, next = s.View.Standing(ctx, t.First.ID, t.FirstFolder).Text(t.Cause)
	} else if row, err := s.View.Row(ctx, registry, t.First.ID); err == nil && row != nil &&
		slices.Contains(row.Waits, t.Cause) { // The device may have come back since the troubles were summed up.
		reason, next = row.State.Reason, row.State.Next
	}
	t.Reason, t.Next = cmp.Or(reason, t.Reason), cmp.Or(next, t.Next)
}

// Waiting groups what waits for a person, as the caller may know it.
func (s *Summaries) Waiting(ctx context.Context, notifications Notifications) (Waiting, error) {
	from, err := s.waitingSources(ctx)
	if err != nil {
		return Waiting{}, err
	}
	if fleet.ScopeIn(ctx).Whole() {
		from.Receivers = slices.DeleteFunc(slices.Clone(notifications.Receivers),
			func(r fleet.Receiver) bool { return r.Trouble == "" })
	}
	out := WaitingOf(from)
	out.Registry = from.Registry
	return out, nil
}

func (s *Summaries) waitingSources(ctx context.Context) (from WaitingSources, err error) {
	if from.Registry, err = s.Registry(ctx); err != nil {
		return from, err
	}
	attention, err := s.View.Attention(ctx, from.Registry)
	if err != nil {
		return from, err
	}
	from.Rows, from.Shown = attention.Waiting, s.Shown
	from.Standing = func(id fleet.DeviceID, folder string) fleet.FolderStanding {
		return s.View.Standing(ctx, id, folder)
	}
	if s.Held != nil {
		if from.Held, err = s.Held(ctx); err != nil {
			return from, err
		}
	}
	if s.Pending != nil {
		from.Pending = s.Pending()
	}
	from.Impairments = s.impairments(ctx)
	if s.Rollouts != nil {
		from.Rollouts, err = s.Rollouts.waiting(ctx)
		if fleet.CodeOf(err) == fleet.CodeUnavailable { // Everything else is in memory.
			from.Impairments, err = append(slices.Clip(from.Impairments), unreadableRollouts(err)), nil
		}
		if err != nil {
			return from, err
		}
	}
	for _, stop := range s.View.Stops(ctx, from.Registry) {
		from.Stops = append(from.Stops, s.Dated(ctx, stop))
	}
	if s.Enrollments != nil && fleet.ScopeIn(ctx).Whole() {
		from.Enrollments, err = s.Enrollments(ctx)
		if fleet.CodeOf(err) == fleet.CodeUnavailable { // An impairment reports it already.
			err = nil
		}
	}
	return from, err
}

// impairments returns the parts of the service that do not work properly. A caller with a tag scope gets other texts,
// because the original ones may count devices of the whole fleet.
func (s *Summaries) impairments(ctx context.Context) []fleet.Impairment {
	if s.Impairments == nil {
		return nil
	}
	all := s.Impairments()
	if fleet.ScopeIn(ctx).Whole() {
		return all
	}
	hidden := make([]fleet.Impairment, len(all))
	for i, one := range all {
		hidden[i] = fleet.Impairment{Part: one.Part, Blocking: one.Blocking, Reason: "it does not work as it should",
			Next: "Tell those who run this server."}
	}
	return hidden
}

// unreadableRollouts returns the impairment for rollouts that cannot be read.
func unreadableRollouts(err error) fleet.Impairment {
	out := fleet.Impairment{Part: "rollouts", Blocking: true, Reason: "they cannot be read: " + fleet.Reason(err)}
	if known := (*fleet.Error)(nil); errors.As(err, &known) {
		out.Next = known.Hint
	}
	return out
}

// InsideOf returns a function that reports whether the caller may know of a device. registry returns the registry of
// the caller's scope.
func InsideOf(ctx context.Context, registry func(context.Context) (*fleet.Registry, error)) (
	func(fleet.DeviceID) bool, error) {
	if fleet.ScopeIn(ctx).Whole() {
		return inside(ctx, nil), nil
	}
	part, err := registry(ctx)
	if err != nil {
		return nil, err
	}
	return inside(ctx, part), nil
}

func inside(ctx context.Context, registry *fleet.Registry) func(fleet.DeviceID) bool {
	if fleet.ScopeIn(ctx).Whole() {
		return func(fleet.DeviceID) bool { return true }
	}
	return func(id fleet.DeviceID) bool { return registry.Devices[id] != nil }
}
