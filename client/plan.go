package client

import (
	"context"
	"net/http"

	"muster/api"
)

// WhatIf says what would become of the fleet with other templates and tags. Nothing is changed.
func (c *Client) WhatIf(ctx context.Context, body api.WhatIf) (api.WhatIfPlan, error) {
	return send[api.WhatIfPlan](ctx, c, http.MethodPost, path("plan"), body)
}
