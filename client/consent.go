package client

import (
	"context"
	"net/http"

	"muster/api"
)

// Consents are the changes that wait for an answer now, equal ones of one rollout together, by key.
func (c *Client) Consents(ctx context.Context) ([]api.HeldGroup, error) {
	return get[[]api.HeldGroup](ctx, c, path("consents"))
}

// AnswerConsents answers equal changes of several devices. 409: no device that is meant has such a change now; 403:
// the answer needs another role.
func (c *Client) AnswerConsents(ctx context.Context, answer api.AnswerConsents) (api.AnsweredConsents, error) {
	return send[api.AnsweredConsents](ctx, c, http.MethodPost, path("consents"), answer)
}

// GivenConsents are the newest answers, with their state.
func (c *Client) GivenConsents(ctx context.Context) ([]api.GivenConsent, error) {
	return get[[]api.GivenConsent](ctx, c, path("consents", "given"))
}
