package client

import (
	"context"
	"net/http"

	"muster/api"
)

// Rollouts are all rollouts, newest first, without members. List.Tag has no effect.
func (c *Client) Rollouts(ctx context.Context, l List) ([]api.Rollout, error) {
	return list[api.Rollout](ctx, c, path("rollouts"), l)
}

// Rollout is one rollout with its members. 404: no rollout has that ID. The requests below are answered with 409 if
// the status of the rollout does not allow them.
func (c *Client) Rollout(ctx context.Context, id int64) (api.RolloutDetail, error) {
	return get[api.RolloutDetail](ctx, c, path("rollouts", number(id)))
}

// PauseRollout stops admission until the rollout is resumed.
func (c *Client) PauseRollout(ctx context.Context, id int64) (api.RolloutDetail, error) {
	return c.steerRollout(ctx, id, "pause")
}

// ResumeRollout goes on with a paused rollout, or with a halted one in spite of what halted it.
func (c *Client) ResumeRollout(ctx context.Context, id int64) (api.RolloutDetail, error) {
	return c.steerRollout(ctx, id, "resume")
}

// HaltRollout stops admission.
func (c *Client) HaltRollout(ctx context.Context, id int64) (api.RolloutDetail, error) {
	return c.steerRollout(ctx, id, "halt")
}

// RolloutRest is what the devices of a rollout that are not through still get.
func (c *Client) RolloutRest(ctx context.Context, id int64) (api.RolloutRest, error) {
	return get[api.RolloutRest](ctx, c, path("rollouts", number(id), "rest"))
}

// PlanUndo is what the undo of a rollout would change and remove, and on which devices. Nothing is changed.
func (c *Client) PlanUndo(ctx context.Context, id int64) (api.WhatIfPlan, error) {
	return get[api.WhatIfPlan](ctx, c, path("rollouts", number(id), "undo"))
}

// UndoRollout makes templates and tags what they were before, and takes the change back where it was sent. It consents
// to the held changes that planned, an answer of PlanUndo, gives a digest. A nil planned consents to nothing. 412:
// templates, tags, vars or revocations were changed since planned was made.
func (c *Client) UndoRollout(ctx context.Context, id int64, planned *api.WhatIfPlan) (api.UndoneRollout, error) {
	to := path("rollouts", number(id), "undo")
	if planned == nil {
		return send[api.UndoneRollout](ctx, c, http.MethodPost, to, nil)
	}
	body := api.UndoRollout{Shown: AnsweredByUndo(*planned)}
	return send[api.UndoneRollout](ctx, c, http.MethodPost, to+"?generation="+number(planned.Generation), body)
}

// AnsweredByUndo lists the held changes of an answer of PlanUndo to which UndoRollout consents. It is not nil: an empty
// list says that a plan was shown.
func AnsweredByUndo(planned api.WhatIfPlan) []api.ShownChange {
	shown := []api.ShownChange{}
	for _, device := range planned.Devices {
		for _, change := range device.Changes {
			if change.Digest != "" {
				shown = append(shown, api.ShownChange{DeviceID: device.DeviceID, Digest: change.Digest})
			}
		}
	}
	return shown
}

func (c *Client) steerRollout(ctx context.Context, id int64, verb string) (api.RolloutDetail, error) {
	return send[api.RolloutDetail](ctx, c, http.MethodPost, path("rollouts", number(id), verb), nil)
}

// ApproveRollout lets a rollout over many devices begin. 403: the approval needs another role; 409: another person has
// to approve it, or it needs none.
func (c *Client) ApproveRollout(ctx context.Context, id int64) (api.RolloutDetail, error) {
	return c.steerRollout(ctx, id, "approve")
}

// PutRolloutWaves makes the waves anew that are not admitted yet.
func (c *Client) PutRolloutWaves(ctx context.Context, id int64, waves []string) (api.RolloutDetail, error) {
	return send[api.RolloutDetail](ctx, c, http.MethodPut, path("rollouts", number(id), "waves"),
		api.RolloutWaves{Waves: &waves})
}
