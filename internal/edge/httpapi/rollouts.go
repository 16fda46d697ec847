package httpapi

import (
	"context"
	"net/http"
	"reflect"
	"strconv"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/fleet"
)

// Rollouts are the rollouts as the caller of a context may know them; see view.Rollouts. An unknown one is not_found.
type Rollouts interface {
	// Rollouts are all, newest first, without members.
	Rollouts(ctx context.Context) ([]fleet.Rollout, error)
	Rollout(ctx context.Context, id int64) (fleet.Rollout, error)
	// Difference is what some generations changed together.
	Difference(ctx context.Context, generations []int64) (fleet.Difference, error)
	// MaySteer checks that the caller may know of all members.
	MaySteer(ctx context.Context, id int64) error
}

// RolloutRunner steers rollouts. An unknown one is not_found; what its status does not allow is conflict.
type RolloutRunner interface {
	Pause(ctx context.Context, id int64) (fleet.Rollout, error)
	Resume(ctx context.Context, id int64) (fleet.Rollout, error)
	Halt(ctx context.Context, id int64) (fleet.Rollout, error)
	// Undo takes the changes of a rollout back, and consents to the changes that were shown. It returns those as answered
	// whose devices go back at once. It returns precondition where the generation that was shown is no longer current.
	Undo(ctx context.Context, id int64, approval fleet.UndoApproval) (undone fleet.Rollout, answered []fleet.ShownChange,
		err error)
	// UndoEdit is what Undo would change, to be foreseen.
	UndoEdit(ctx context.Context, id int64) (fleet.Edit, error)
	// Approve needs another person than made the change, with --four-eyes.
	Approve(ctx context.Context, id int64) (fleet.Rollout, error)
	SetWaves(ctx context.Context, id int64, waves []string) (fleet.Rollout, error)
}

// RolloutHandlers show and steer rollouts.
type RolloutHandlers struct {
	*base
	Rollouts Rollouts
	Runner   RolloutRunner // set where Rollouts is
}

func (s RolloutHandlers) routes(b *base) []route {
	s.base = b
	const all, one = Prefix + "/rollouts", Prefix + "/rollouts/{rolloutID}"
	detail, off := reflect.TypeFor[api.RolloutDetail](), s.Rollouts == nil
	steer := func(verb, summary string, permission auth.Permission,
		do func(RolloutRunner, context.Context, int64) (fleet.Rollout, error)) route {
		return route{method: http.MethodPost, path: one + "/" + verb, name: verb + "Rollout", summary: summary,
			permission: permission,
			reply:      detail, volatile: true, conflicts: true, off: off,
			handle: func(r *request) (reply, error) { return s.steer(r, verb, do) }}
	}
	return []route{
		{method: http.MethodGet, path: all, name: "listRollouts", summary: "All rollouts, newest first",
			permission: auth.Read,
			query:      []parameter{searchParam, limitParam, afterParam}, reply: reflect.TypeFor[[]api.Rollout](), off: off,
			handle: s.ofList(s.listRollouts)},
		{method: http.MethodGet, path: one, name: "getRollout", summary: "One rollout with its members",
			permission: auth.Read,
			reply:      detail, off: off, handle: s.getRollout},
		steer("pause", "Admit nobody until the rollout is resumed", auth.Apply, RolloutRunner.Pause),
		steer("resume", "Go on with a paused rollout, or with a halted one in spite of what halted it", auth.Apply,
			RolloutRunner.Resume),
		steer("halt", "Admit nobody any more", auth.Apply, RolloutRunner.Halt),
		{method: http.MethodPost, path: one + "/approve", name: "approveRollout",
			summary: "Let a rollout over many devices begin", permission: auth.Approve, reply: detail, volatile: true,
			conflicts: true, off: off, handle: s.approve},
		{method: http.MethodPut, path: one + "/waves", name: "putRolloutWaves",
			summary:    "Make the waves anew that are not admitted yet",
			permission: auth.Apply, body: reflect.TypeFor[api.RolloutWaves](), reply: detail, volatile: true, conflicts: true,
			off:    off,
			handle: s.putRolloutWaves},
	}
}

func (s RolloutHandlers) listRollouts(r *request, q listQuery, registry *fleet.Registry) (reply, error) {
	rollouts, err := s.Rollouts.Rollouts(r.Context())
	if err != nil {
		return reply{}, err
	}
	as := newestFirst(func(one fleet.Rollout) int64 { return one.ID },
		func(rollout fleet.Rollout) api.Rollout { return wireRollout(rollout, registry) })
	as.matches = func(one fleet.Rollout) bool { return q.holds(one.Cause, string(one.Status)) }
	return showList(r, q, rollouts, as)
}

func (s RolloutHandlers) getRollout(r *request) (reply, error) {
	id, err := r.number("rolloutID")
	if err != nil {
		return reply{}, err
	}
	rollout, err := s.Rollouts.Rollout(r.Context(), id)
	if err != nil {
		return reply{}, noRollout(id, err)
	}
	return s.showRollout(r, rollout)
}

func (s RolloutHandlers) steer(r *request, verb string, do func(RolloutRunner, context.Context, int64) (fleet.Rollout,
	error)) (reply, error) {
	rollout, err := s.done(r, do)
	if err != nil {
		return reply{}, err
	}
	if err := s.record(r, "rollout."+verb, strconv.FormatInt(rollout.ID, 10), rollout.Cause); err != nil {
		return reply{}, err
	}
	return s.showRollout(r, rollout)
}

// approve writes no entry of its own: the audit gets it together with the approval.
func (s RolloutHandlers) approve(r *request) (reply, error) {
	rollout, err := s.done(r, RolloutRunner.Approve)
	if err != nil {
		return reply{}, err
	}
	return s.showRollout(r, rollout)
}

// done does something to the rollout of a request, if the caller may know of all its members.
func (s RolloutHandlers) done(r *request, do func(RolloutRunner, context.Context, int64) (fleet.Rollout, error)) (
	fleet.Rollout, error) {
	id, err := r.number("rolloutID")
	if err != nil {
		return fleet.Rollout{}, err
	}
	if err := s.Rollouts.MaySteer(r.Context(), id); err != nil {
		return fleet.Rollout{}, noRollout(id, err)
	}
	rollout, err := do(s.Runner, r.Context(), id)
	return rollout, noRollout(id, err)
}

func (s RolloutHandlers) putRolloutWaves(r *request) (reply, error) {
	body, err := decode[api.RolloutWaves](r, "waves")
	if err != nil {
		return reply{}, err
	}
	return s.steer(r, "waves", func(runner RolloutRunner, ctx context.Context, id int64) (fleet.Rollout, error) {
		return runner.SetWaves(ctx, id, *body.Waves)
	})
}

// noRollout says where the rollouts are when there is none of that ID.
func noRollout(id int64, err error) error {
	if fleet.CodeOf(err) != fleet.CodeNotFound {
		return err
	}
	return &fleet.Error{
		Code: fleet.CodeNotFound, Message: "there is no rollout " + strconv.FormatInt(id, 10),
		Hint: "GET " + Prefix + "/rollouts lists all.", Err: err,
		See: fleet.Reference{Subject: fleet.SeeRollouts},
	}
}

func (s RolloutHandlers) showRollout(r *request, rollout fleet.Rollout) (reply, error) {
	detail, err := s.wireRolloutDetail(r, rollout)
	if err != nil {
		return reply{}, err
	}
	return show(detail)
}

func (s RolloutHandlers) wireRolloutDetail(r *request, rollout fleet.Rollout) (api.RolloutDetail, error) {
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return api.RolloutDetail{}, err
	}
	difference, err := s.Rollouts.Difference(r.Context(), rollout.Carries)
	if err != nil {
		return api.RolloutDetail{}, err
	}
	detail := wireMembers(rollout, registry)
	detail.Templates, detail.Tags = wireTemplateDifferences(difference.Templates), wireTagDifferences(difference.Tags)
	detail.Vars = wireVarsDifferences(difference.Vars)
	return detail, nil
}

// wireMembers is a rollout with its members, and without what it changes.
func wireMembers(rollout fleet.Rollout, registry *fleet.Registry) api.RolloutDetail {
	detail := api.RolloutDetail{Rollout: wireRollout(rollout, registry),
		Members:   make([]api.RolloutMember, len(rollout.Members)),
		Templates: []api.RolloutTemplate{}, Tags: []api.RolloutTag{}, Vars: []api.RolloutVar{}}
	for i, member := range rollout.Members {
		detail.Members[i] = api.RolloutMember{
			DeviceID: string(member.Device), Wave: member.Wave, State: string(member.State),
			Reason: named(registry, member.Reason),
			Was:    string(member.Was), Errors: member.Errors, Waived: member.Waived && !member.Left(),
		}
		if device := registry.Devices[member.Device]; device != nil {
			detail.Members[i].Label = device.Label
		}
	}
	return detail
}

func wireTemplateDifferences(templates []fleet.TemplateDifference) []api.RolloutTemplate {
	text := func(t *fleet.Template) *api.TemplateText {
		if t == nil {
			return nil
		}
		return &api.TemplateText{Op: string(t.Op), Key: t.Key, Priority: t.Priority, Template: t.Text}
	}
	return mapped(templates, func(t fleet.TemplateDifference) api.RolloutTemplate {
		return api.RolloutTemplate{ID: t.ID, Label: t.Label, Before: text(t.Before), After: text(t.After)}
	})
}

func wireTagDifferences(tags []fleet.TagDifference) []api.RolloutTag {
	return mapped(tags, func(t fleet.TagDifference) api.RolloutTag {
		return api.RolloutTag{Tag: string(t.Tag), DeviceID: string(t.Device), Template: t.Template, Carried: t.Carried}
	})
}

// wireVarsDifferences has one entry for each var that is another one.
func wireVarsDifferences(all []fleet.VarsDifference) []api.RolloutVar {
	out := []api.RolloutVar{}
	for _, of := range all {
		for _, v := range of.Each() {
			out = append(out, api.RolloutVar{Name: v.Name, Tag: string(of.Tag), DeviceID: string(of.Device),
				Before: v.Before, After: v.After})
		}
	}
	return out
}

// wireRollout names devices in its texts as the registry does; without one, by the first letters of their IDs.
func wireRollout(rollout fleet.Rollout, registry *fleet.Registry) api.Rollout {
	out := api.Rollout{
		ID: rollout.ID, Generation: rollout.Generation, Before: rollout.Before,
		Cause:  named(registry, rollout.Cause),
		Status: string(rollout.Status),
		Reason: named(registry, rollout.Reason), Next: named(registry, rollout.Next), Waves: rollout.Waves,
		Wave:     rollout.Wave,
		WavePlan: rollout.WavePlan, Undoes: rollout.Undoes, UndoneBy: rollout.UndoneBy, SupersededBy: rollout.SupersededBy,
		CreatedAt: api.Time{Time: rollout.CreatedAt}, StartedAt: moment(rollout.StartedAt), WaveAt: moment(rollout.WaveAt),
		EndedAt: moment(rollout.EndedAt),
	}
	if out.Waves == nil {
		out.Waves = []int{} // events are encoded otherwise than answers
	}
	if out.WavePlan == nil {
		out.WavePlan = []string{}
	}
	if a := rollout.Approval; a != nil {
		out.Approval = &api.RolloutApproval{Reason: a.Reason, By: a.By, At: moment(a.At)}
	}
	if halt := rollout.Halt; halt != nil {
		out.Halt = &api.RolloutHalt{By: halt.By, Gate: string(halt.Gate), Device: string(halt.Device), Saw: halt.Saw,
			At: api.Time{Time: halt.At}}
	}
	return out
}
