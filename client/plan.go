package client

import (
	"context"
	"net/http"

	"muster/api"
)

// WhatIf is the plan of changes of templates, tags and vars. Nothing is changed.
func (c *Client) WhatIf(ctx context.Context, body api.WhatIf) (api.WhatIfPlan, error) {
	return send[api.WhatIfPlan](ctx, c, http.MethodPost, path("plan"), body)
}
