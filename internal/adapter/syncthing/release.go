package syncthing

import (
	"context"
	"encoding/json"

	"muster/internal/fleet"
)

const duringRelease = "ask for the newest release"

// Release reads /rest/system/upgrade. To answer, the daemon asks its release server. A daemon without upgrades
// (Debian's 1.19.2, STNOUPGRADE) answers 501, which becomes CodeUnavailable.
func (c calls) Release(ctx context.Context) (fleet.Release, error) {
	body, err := c.get(ctx, "/rest/system/upgrade", duringRelease)
	if err != nil {
		return fleet.Release{}, err
	}
	var answer struct {
		Running    string `json:"running"`
		Latest     string `json:"latest"`
		Newer      bool   `json:"newer"`
		MajorNewer bool   `json:"majorNewer"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return fleet.Release{}, &fleet.Error{Code: fleet.CodeUnbelievable, During: duringRelease,
			Message: "the daemon's answer is not understood"}
	}
	if err := sane(c.limits, duringRelease, answer.Running, answer.Latest); err != nil {
		return fleet.Release{}, err
	}
	return fleet.Release{Running: answer.Running, Newest: answer.Latest, Newer: answer.Newer || answer.MajorNewer,
		Major: answer.MajorNewer}, nil
}
