package owner_test

import (
	"fmt"
	"slices"
	"testing"

	"muster/api"
	"muster/internal/fleet"
	"muster/test/daemon"
)

// A daemon's home was copied, the copy was managed in its place, and then the original again: its older document made
// a folder that templates had made the person's, with its share list.
func TestACloneAndThenTheOriginalChangeNothingOfWhoseAFolderIs(t *testing.T) {
	t.Parallel()
	var original *daemon.Daemon
	start := func(t *testing.T) (fleet.DeviceID, string, string, int) {
		original = daemon.Start(t, daemon.Options{})
		return original.ID, original.APIKey, original.Address, original.Port
	}
	on(t, start, func(p *place) {
		made := p.template(10, "merge", "folders", shared(nora, otto))
		p.becomes(share(nora)+".deviceID", fmt.Sprintf("%q", nora))
		p.rests(fleet.ConfigInSync)
		original.Stop()
		clone := original.Clone()
		p.manages(clone)
		p.patch("folders/made", `{"rescanIntervalS": 77}`)
		p.rests(fleet.ConfigInSync)
		clone.Stop()
		original.Restart()
		p.manages(original)
		p.rests(fleet.ConfigInSync)

		p.change(made, "merge", "folders", shared(otto))
		p.becomes(share(nora), "absent")
		p.becomes("devices."+string(nora), "absent")
		p.rests(fleet.ConfigInSync)
		p.gone(made)
		plan := p.rests(fleet.ConfigHeld)
		if !slices.ContainsFunc(plan.Changes, func(c api.PlannedChange) bool { return c.Key == "folders.made" }) {
			t.Errorf("no question about the folder:%s", changes(plan))
		}
		p.answer([]string{"folders.made"}, nil)
		p.becomes("folders.made", "absent")
		p.rests(fleet.ConfigUnmanaged)
	})
}

// manages has Muster manage the daemon at its address, and the person be at it.
func (p *place) manages(d *daemon.Daemon) {
	p.t.Helper()
	p.url = fmt.Sprintf("http://%s:%d", d.Address, d.Port)
	p.s.Register(p.id, p.key, d.Address, d.Port, "it")
}
