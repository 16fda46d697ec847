package syncthing

import (
	"context"
	"encoding/json"
	"net/http"

	"muster/internal/fleet"
)

// RestartRequired reports whether a part of the configuration takes effect only after a restart. It stays true until
// the restart, even when the part is set back.
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

// Restart restarts the daemon. A daemon that was started with --no-restart only stops.
func (c calls) Restart(ctx context.Context) error {
	return c.Write(ctx, http.MethodPost, "/rest/system/restart", nil)
}
