package tunnel_test

import (
	"testing"

	"muster/internal/fleet"
	"muster/test/wait"
)

// The agent tells of the disks under its daemon's folders, and when its daemon is back.
func TestDisksAndTheReturnOfTheDaemonAreTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Register(w.daemon.ID, w.daemon.APIKey, "", w.daemon.Port)
	w.startAgent(false)
	w.waitFoundBy(fleet.FoundByAgent)
	wait.Until(t, func() string {
		disks, err := w.Client.DeviceDisks(t.Context(), string(w.daemon.ID))
		if err != nil || len(disks) == 0 || disks[0].Use != "home" || disks[0].TotalBytes <= 0 {
			return "nothing is told of the disk under the daemon's home"
		}
		return ""
	})
	w.daemon.Stop()
	w.WaitConnection(w.daemon.ID, fleet.Unreachable)
	w.daemon.Restart()
	w.waitFoundBy(fleet.FoundByAgent)
}
