//muster:test
//muster:soak -race=false -revoking=300

package pending_test

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"golang.org/x/sync/errgroup"

	"muster/api"
	"muster/client"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

// revoking is how many daemons there are that have to take a device out. Each of them knows a third of the others.
var revoking = flag.Int("revoking", 60, "daemons that take a revoked device out; a multiple of 3")

// stillHas counts the simulated daemons, but for some, that have a device in their configuration.
func stillHas(farm *stsim.Farm, id fleet.DeviceID, but ...*stsim.Daemon) (count int) {
	for _, d := range farm.Daemons() {
		if slices.Contains(but, d) {
			continue
		}
		for member := range d.Config().Get("devices").Values() {
			if d.ID() != id && member.Get("deviceID").Str() == string(id) {
				count++
			}
		}
	}
	return count
}

// TestACertificateSaysAHundredPercentOnlyWhenItIsTrue: a third of the daemons is away, Muster is killed, somebody puts
// the device back, and one daemon returns with the configuration of an old backup.
func TestACertificateSaysAHundredPercentOnlyWhenItIsTrue(t *testing.T) {
	many := *revoking
	farm := simulated.Start(t, stsim.Options{Count: many, Group: many / 3, Network: 97, Quiet: true, Seed: 5})
	s := server.Start(t, server.Options{})
	var registering errgroup.Group
	registering.SetLimit(8)
	for _, d := range farm.Daemons() {
		registering.Go(func() error {
			key, address, port := d.APIKey(), d.Host(), int64(d.Port())
			_, _, err := s.Client.PutDevice(t.Context(), string(d.ID()),
				api.PutDevice{APIKey: &key, APIAddress: &address, APIPort: &port})
			return err
		})
	}
	if err := registering.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, d := range farm.Daemons() {
		s.WaitConnection(d.ID(), fleet.Online)
	}
	lost, byHand, restored := farm.Daemon(0), farm.Daemon(1), farm.Daemon(3)
	backup := restored.Config()
	for i, d := range farm.Daemons() {
		if i%3 == 2 {
			d.Stop()
		}
	}
	if _, err := s.Client.RevokeDevice(t.Context(), string(lost.ID()), api.RevokeDevice{}); err != nil {
		t.Fatal(err)
	}
	s.Kill()
	s = server.Start(t, server.Options{Home: s.Home})
	certificate := func() api.RevocationCertificate {
		c, err := s.Client.RevocationCertificate(t.Context(), string(lost.ID()))
		if err != nil {
			t.Fatal(err)
		}
		// Muster may not have read yet what was put back at these two.
		if left := stillHas(farm, lost.ID(), byHand, restored); c.Complete && left > 0 {
			t.Fatalf("100 %% is not true: %d daemons have the device", left)
		}
		return c
	}
	comesTo := func(gone int) {
		t.Helper()
		wait.Until(t, func() string {
			c := certificate()
			if c.Gone == gone && c.Devices == many-1 {
				return ""
			}
			return fmt.Sprintf("proven are %d of %d, want %d", c.Gone, c.Devices, gone)
		})
	}
	comesTo(many - 1 - many/3)
	if err := byHand.Edit(func(doc stconfig.Value) stconfig.Value {
		return doc.With("devices", backup.Get("devices"))
	}); err != nil {
		t.Fatal(err)
	}
	if err := restored.Edit(func(stconfig.Value) stconfig.Value { return backup }); err != nil {
		t.Fatal(err)
	}
	restored.Stop()
	for _, d := range farm.Daemons() {
		if !d.Running() {
			if err := d.Start(); err != nil {
				t.Fatal(err)
			}
		}
	}
	wait.Until(t, func() string {
		proofs, err := s.Client.RevocationProofs(t.Context(), string(lost.ID()), "", client.List{Page: 100})
		if err != nil {
			return err.Error()
		}
		for _, p := range proofs {
			putBack := p.DeviceID == string(byHand.ID()) || p.DeviceID == string(restored.ID())
			if p.State != "gone" || putBack != (p.Returns > 0) {
				return fmt.Sprintf("%s is %s (%s), with %d returns", p.DeviceID, p.State, p.Reason, p.Returns)
			}
		}
		return ""
	})
	if c := certificate(); !c.Complete || c.Percent != 100 || stillHas(farm, lost.ID()) > 0 {
		t.Errorf("got %+v, and %d daemons have the device", c, stillHas(farm, lost.ID()))
	}
	if report, err := s.Client.VerifyAudit(t.Context(), nil); err != nil || len(report.Faults)+len(report.Rows) > 0 {
		t.Errorf("the audit is %+v, %v", report, err)
	}
}
