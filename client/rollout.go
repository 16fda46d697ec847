package client

import (
	"context"
	"net/http"

	"muster/api"
)

// Rollouts are all, newest first, without members; List.Tag is not for them.
func (c *Client) Rollouts(ctx context.Context, l List) ([]api.Rollout, error) {
	return list[api.Rollout](ctx, c, path("rollouts"), l)
}

// Rollout is one with its members. 404: there is none of that ID. What its status does not allow below is 409.
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

// UndoRollout makes templates and tags what they were before, and takes the change back where it was sent.
func (c *Client) UndoRollout(ctx context.Context, id int64) (api.RolloutDetail, error) {
	return c.steerRollout(ctx, id, "undo")
}

func (c *Client) steerRollout(ctx context.Context, id int64, verb string) (api.RolloutDetail, error) {
	return send[api.RolloutDetail](ctx, c, http.MethodPost, path("rollouts", number(id), verb), nil)
}

// ConsentRollout answers the held changes of one member's plan, which the digest names, for all members that have the
// same, now or in a later wave. 409: no member has that plan any more; 403: the consent needs another role.
func (c *Client) ConsentRollout(ctx context.Context, id int64, answer api.ApplyPlan) (api.RolloutAnswered, error) {
	return send[api.RolloutAnswered](ctx, c, http.MethodPost, path("rollouts", number(id), "consent"), answer)
}
