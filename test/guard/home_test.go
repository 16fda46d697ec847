package guard_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"muster/api"
	muster "muster/client"
	"muster/internal/core/plan"
	"muster/internal/fleet"
	"muster/test/daemon"
	"muster/test/server"
	"muster/test/wait"
)

// 1.19 has no /rest/system/paths. An author's template put a folder over a home that `--home ~/apps/stconfig` chose,
// and shared the daemon's keys.
func TestAnAuthorSharesTheHomeOfADaemonThatHasNoPaths(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	victim := daemon.Start(t, daemon.Options{HomeBelow: "apps/stconfig"})
	other := daemon.Start(t, daemon.Options{})
	s.Register(victim.ID, victim.APIKey, victim.Address, victim.Port, "victim")
	s.Register(other.ID, other.APIKey, other.Address, other.Port)
	s.WaitConfiguration(victim.ID, fleet.ConfigUnmanaged)
	author, err := s.Client.CreateToken(t.Context(), "an author", string(fleet.RoleAuthor))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"~/apps/stconfig", "~/apps", "~/apps/stconfig/index-v0.14.0.db"} {
		heldAsItsOwn(t, s, author.Secret, victim, other, path)
	}

	// The daemon goes on without Muster, until it has forgotten its start.
	s.Stop()
	age(victim)
	s = server.Start(t, server.Options{Home: s.Home})
	s.WaitConfiguration(victim.ID, fleet.ConfigUnmanaged)
	heldAsItsOwn(t, s, author.Secret, victim, other, "~/apps")
}

// age has a daemon make more events than it keeps, by scans of a folder.
func age(d *daemon.Daemon) {
	d.AddFolder("busy")
	for newest := int64(0); newest <= 1000; {
		d.Post("/rest/db/scan?folder=busy", nil)
		var events []struct{ ID int64 }
		d.GetJSON("/rest/events?since=0&limit=1", &events)
		newest = events[0].ID
	}
}

// A daemon that had forgotten its start when Muster came is the one case that is left.
func TestEvaluateWarnsWhereTheDaemonsHomeIsNotKnown(t *testing.T) {
	t.Parallel()
	s := server.Start(t, server.Options{})
	d := daemon.Start(t, daemon.Options{HomeBelow: "stconfig"})
	age(d)
	s.Register(d.ID, d.APIKey, d.Address, d.Port)
	s.WaitConfiguration(d.ID, fleet.ConfigUnmanaged)
	op, key, text := "merge", "folders.new", `{"path": "~/stconfig"}`
	warnings := func() string {
		made, err := s.Client.EvaluateNewTemplate(t.Context(), api.EvaluateTemplate{Op: &op, Key: &key,
			Template: &text}, string(d.ID))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(made.Warnings, "\n")
	}
	wait.Until(t, func() string {
		got := warnings()
		if strings.Contains(got, "Restart the daemon") {
			return ""
		}
		return "the warnings are " + got
	})
	d.Restart()
	wait.Until(t, func() string {
		got := warnings()
		if strings.Contains(got, "would be held") && !strings.Contains(got, "Restart the daemon") {
			return ""
		}
		return "after a restart the warnings are " + got
	})
}

// heldAsItsOwn has an author share a new folder of a device, and wants it held because the daemon's own files are
// there.
func heldAsItsOwn(t *testing.T, s *server.Server, author string, victim, other *daemon.Daemon, path string) {
	t.Helper()
	admin := s.Client
	authored := *s
	var err error
	if authored.Client, err = muster.New(s.URL, author); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf(`{"path": %q, "devices": [{"deviceID": %q}]}`, path, other.ID)
	id := authored.Template("merge", "folders.loot", text, "victim")
	s.WaitConfiguration(victim.ID, fleet.ConfigHeld)
	made, err := admin.DevicePlan(t.Context(), string(victim.ID))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(made.Changes, func(c api.PlannedChange) bool {
		return c.Key == "folders.loot" && c.Class == string(plan.Held) &&
			strings.Contains(c.Reason, "is, contains or lies in a directory of the daemon itself")
	}) {
		t.Errorf("%s: the plan is %+v", path, made.Changes)
	}
	if err := admin.DeleteTemplate(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	s.WaitConfiguration(victim.ID, fleet.ConfigUnmanaged)
}
