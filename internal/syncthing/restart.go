package syncthing

import (
	"context"
	"encoding/json"
	"net/http"

	"muster/internal/fleet"
)

// RestartRequired tells whether something in the configuration takes effect only when the daemon starts anew. The
// daemon says so until then, also when the value is set back.
func (c calls) RestartRequired(ctx context.Context) (bool, error) {
	body, err := c.get(ctx, "/rest/config/restart-required", "ask whether a restart is needed")
	if err != nil {
		return false, err
	}
	var answer struct {
		RequiresRestart *bool `json:"requiresRestart"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.RequiresRestart == nil {
		return false, &fleet.Error{Code: fleet.CodeUnbelievable, During: "ask whether a restart is needed",
			Message: "the daemon's answer is not understood"}
	}
	return *answer.RequiresRestart, nil
}

// Restart has the daemon start anew. One that was started with --no-restart stays down.
func (c calls) Restart(ctx context.Context) error {
	return c.Write(ctx, http.MethodPost, "/rest/system/restart", nil)
}
