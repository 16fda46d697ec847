// Package upgrade_test upgrades daemons in place while Muster runs.
//
//muster:needs daemons
package upgrade_test

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"muster/api"
	"muster/client"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

func TestMain(m *testing.M) {
	server.Main()
	os.Exit(m.Run())
}

// scene is a daemon of 1.19.2 with two others that are registered, and Muster.
type scene struct {
	t      *testing.T
	s      *server.Server
	farm   *stsim.Farm
	daemon *stsim.Daemon
}

func start(t *testing.T, network int) *scene {
	t.Helper()
	farm := simulated.Start(t, stsim.Options{Count: 12, Network: network,
		Versions: []stsim.Version{stsim.V1}, Folders: 2, Quiet: true})
	c := &scene{t: t, s: server.Start(t, server.Options{}), farm: farm, daemon: farm.Daemon(0)}
	for i, d := range farm.Daemons() {
		c.s.Register(d.ID(), d.APIKey(), d.Host(), d.Port(), fmt.Sprint("daemon-", i))
		c.s.WaitConfiguration(d.ID(), fleet.ConfigUnmanaged)
	}
	return c
}

// stranger is a registered device that the daemon does not know yet.
func (c *scene) stranger() string {
	c.t.Helper()
	for _, d := range c.farm.Daemons() {
		id := string(d.ID())
		if !stconfig.Lookup(c.daemon.Config(), stconfig.Key{}.Child("devices").Child(id)).Exists() {
			return id
		}
	}
	c.t.Fatal("the daemon knows all the others")
	return ""
}

// waitInSync waits until the daemon has the configuration of its version, is in sync with all templates, and nothing
// is planned.
func (c *scene) waitInSync(version string) {
	c.t.Helper()
	wait.Until(c.t, func() string {
		state, err := c.s.Client.DeviceState(c.t.Context(), string(c.daemon.ID()))
		if err != nil {
			return err.Error()
		}
		made, err := c.s.Client.DevicePlan(c.t.Context(), string(c.daemon.ID()))
		if err != nil {
			return err.Error()
		}
		overview, err := c.s.Client.Overview(c.t.Context())
		if err != nil {
			return err.Error()
		}
		masked, err := c.s.Client.DeviceConfig(c.t.Context(), string(c.daemon.ID()))
		if err != nil {
			return err.Error()
		}
		observed, err := stconfig.Parse(masked)
		switch {
		case err != nil:
			return err.Error()
		case observed.Get("version").Str() != version:
			return "the configuration of version " + observed.Get("version").Str() + " is shown"
		case made.Generation != overview.Generation:
			return fmt.Sprintf("the plan is of generation %d, the newest is %d", made.Generation, overview.Generation)
		case len(made.Changes) > 0:
			return fmt.Sprintf("%s is planned (%s), %s: %s", made.Changes[0].Key, made.Changes[0].Class, state.Configuration,
				state.Reason)
		case state.Configuration != string(fleet.ConfigInSync):
			return fmt.Sprintf("the device is %s: %s", state.Configuration, state.Reason)
		}
		return ""
	})
}

// A template names a device: after the upgrade it has fields that nobody wrote, and lacks none.
func TestADeviceThatATemplateNamesIsInSyncAfterAnUpgrade(t *testing.T) {
	t.Parallel()
	c := start(t, 86)
	other := c.stranger()
	c.s.Template("merge", "devices."+other, `{"name": "other", "maxSendKbps": 7}`, "daemon-0")
	c.s.Template("merge", "folders.shared", `{"path": "~/shared", "devices": [{"deviceID": "`+other+`"}]}`, "daemon-0")
	wait.Until(t, func() string { // the device is in sync before its turn comes, too
		if stconfig.Lookup(c.daemon.Config(), keyOf(t, "folders.shared")).Exists() {
			return ""
		}
		return "the folder is not there"
	})
	c.waitInSync("36")
	c.upgrade()
}

// The same device is in the folder of a person, too.
func TestADeviceInAPersonsFolderIsInSyncAfterAnUpgrade(t *testing.T) {
	t.Parallel()
	c := start(t, 88)
	other := c.stranger()
	c.s.Template("merge", "devices."+other, `{"name": "other", "maxSendKbps": 7}`, "daemon-0")
	c.waitInSync("36")
	if err := c.daemon.Edit(func(doc stconfig.Value) stconfig.Value {
		folder := doc.Get("folders").At(0)
		share := stconfig.Obj(stconfig.Member{Name: "deviceID", Value: stconfig.Text(other)})
		return stconfig.Replace(doc, keyOf(t, "folders."+folder.Get("id").Str()+".devices."+other), share)
	}); err != nil {
		t.Fatal(err)
	}
	c.waitInSync("36")
	c.upgrade()
}

// A folder brings a device along, and templates change fields that the upgrade changes too.
func TestWhatAFolderBringsAlongIsInSyncAfterAnUpgrade(t *testing.T) {
	t.Parallel()
	c := start(t, 87)
	other := c.stranger()
	c.s.Template("merge", "folders.shared",
		`{"path": "~/shared", "devices": [{"deviceID": "`+other+`"}], "maxConflicts": 3}`, "daemon-0")
	c.s.Template("merge", "options", `{"maxSendKbps": 7}`, "daemon-0")
	c.s.Template("set", "folders.*.versioning",
		`{"type": "simple", "params": {"keep": "5"}, "cleanupIntervalS": 60, "fsPath": "", "fsType": "basic"}`, "daemon-0")
	c.waitInSync("36")
	c.upgrade()
}

// An upgrade made a folder that templates had made the person's, with its share list: a share that templates took away
// afterwards stayed, and was said to be in sync.
func TestWhatTemplatesMadeIsRevokedAfterAnUpgrade(t *testing.T) {
	t.Parallel()
	c := start(t, 90)
	other := c.stranger()
	folder := c.s.Template("merge", "folders.shared", `{"path": "~/shared"}`, "daemon-0")
	share := c.s.Template("merge", "folders.shared.devices", `[{"deviceID": "`+other+`"}]`, "daemon-0")
	c.waitThere("folders.shared.devices."+other, true)
	c.waitInSync("36")
	c.upgrade()
	for _, revoked := range []struct {
		template int64
		state    fleet.Configuration
	}{{share, fleet.ConfigInSync}, {folder, fleet.ConfigHeld}} {
		if err := c.s.Client.DeleteTemplate(t.Context(), revoked.template); err != nil {
			t.Fatal(err)
		}
		c.waitThere("folders.shared.devices."+other, false)
		c.waitThere("devices."+other, false)
		c.s.WaitConfiguration(c.daemon.ID(), revoked.state)
	}
}

// waitThere waits until the daemon has something, or does not.
func (c *scene) waitThere(key string, want bool) {
	c.t.Helper()
	wait.Until(c.t, func() string {
		if is := stconfig.Lookup(c.daemon.Config(), keyOf(c.t, key)).Exists(); is != want {
			return fmt.Sprint(key, " is there: ", is)
		}
		return ""
	})
}

// upgrade replaces the program, and checks that Muster writes what a template asks for afterwards, and nothing else.
func (c *scene) upgrade() {
	c.t.Helper()
	if err := c.daemon.Upgrade(stsim.V2); err != nil {
		c.t.Fatal(err)
	}
	migrated, written := c.daemon.Config(), c.daemon.Counters().Writes
	c.waitInSync("52")
	c.s.Template("set", "options.maxRecvKbps", "4711", "daemon-0")
	wait.Until(c.t, func() string {
		if got := c.daemon.Config().Get("options").Get("maxRecvKbps").Str(); got != "4711" {
			return "maxRecvKbps is " + got
		}
		return ""
	})
	c.waitInSync("52")
	for _, change := range stconfig.Diff(migrated, c.daemon.Config()) {
		if change.Key.String() != "options.maxRecvKbps" {
			c.t.Errorf("%s was changed after the upgrade", change.Key)
		}
	}
	if n := c.daemon.Counters().Writes - written; n != 1 {
		c.t.Errorf("%d writes after the upgrade, want the one of the new template", n)
	}
}

// A revision of the earlier version is restored: fields that came and went with the upgrade are no changes.
func TestARestoreAcrossAnUpgradeChangesWhatPeopleEdited(t *testing.T) {
	t.Parallel()
	c := start(t, 89)
	id := string(c.daemon.ID())
	var revisions []api.Revision
	var err error
	wait.Until(t, func() string { // what was read is kept a moment later
		if revisions, err = c.s.Client.Revisions(t.Context(), id, client.List{}); err != nil || len(revisions) == 0 {
			return fmt.Sprint("no revision: ", err)
		}
		return ""
	})
	if err := c.daemon.Upgrade(stsim.V2); err != nil {
		t.Fatal(err)
	}
	folder := c.daemon.Config().Get("folders").At(0).Get("id").Str()
	label := "folders." + folder + ".label"
	if err := c.daemon.Edit(func(doc stconfig.Value) stconfig.Value {
		doc = stconfig.Replace(doc, keyOf(t, label), stconfig.Text("edited"))
		return stconfig.Replace(doc, keyOf(t, "options.maxSendKbps"), stconfig.Literal("77"))
	}); err != nil {
		t.Fatal(err)
	}
	var restored api.Restored
	wait.Until(t, func() string {
		if restored, err = c.s.Client.RestoreRevision(t.Context(), id, revisions[0].Number, api.Restore{}); err != nil {
			return err.Error()
		}
		return ""
	})
	var keys []string
	for _, change := range slices.Concat(restored.Plan.Changes, restored.Left) {
		keys = append(keys, change.Key)
	}
	slices.Sort(keys)
	if want := []string{label, "options.maxSendKbps"}; !slices.Equal(keys, want) {
		t.Errorf("the restore changes %v, want %v", keys, want)
	}
	if got := stconfig.Lookup(c.daemon.Config(), keyOf(t, label)).Str(); got == "edited" {
		t.Error("the label is the edited one still")
	}
}

func keyOf(t *testing.T, text string) stconfig.Key {
	t.Helper()
	key, err := stconfig.ParseKey(text)
	if err != nil {
		t.Fatal(err)
	}
	return key
}
