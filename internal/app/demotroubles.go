package app

import (
	"fmt"

	"muster/internal/adapter/tunnel"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/stsim"
)

// demoWithTroubles is the smallest number of devices with which a demo has folders in trouble.
const demoWithTroubles = 30

// demoTroubles are folders in trouble, one of each kind. Each is the folder that the device shares with the two
// devices beside it at its site. On those the folder is up to date, or in a trouble of its own.
var demoTroubles = []struct {
	device int
	cause  func(farm *stsim.Farm, d *stsim.Daemon, folder string) error
}{
	{1, stopped(stsim.PathMissing)},
	{4, stopped(stsim.MarkerMissing)},
	{5, stopped(stsim.NoPermission)},
	{7, failing(12, stsim.NoSpace)},
	{8, failing(3, stsim.NoPermission)},
	{12, stopped(stsim.OtherProblem)},
	{10, moves(stsim.Transfer{Files: 9000, Bytes: 60 << 30, Rate: 6 << 20})},
	{13, moves(stsim.Transfer{Files: 40, Bytes: 3 << 30})},
	{15, cutOff},
	{18, lags(25, 700<<20)},
	{19, edited("paused", stconfig.Boolean(true))},
	{20, lags(25, 700<<20)},
	{21, stopped(stsim.NoSpace)},
	{22, editedLocally},
	{24, lostConflict},
	{25, overruled},
	{28, differs},
}

// makeDemoTroubles puts a few of a demo's folders into trouble. All others stay up to date.
func makeDemoTroubles(farm *stsim.Farm) error {
	daemons := farm.Daemons()
	for _, d := range daemons {
		for _, id := range d.FolderIDs() {
			if err := d.HealFolder(id); err != nil {
				return fmt.Errorf("bring folder %s of a simulated daemon up to date: %w", id, err)
			}
		}
	}
	if len(daemons) <= demoWithTroubles {
		return nil
	}
	tellDemoDisks(daemons)
	for _, trouble := range demoTroubles {
		d := daemons[trouble.device]
		if err := trouble.cause(farm, d, siteFolder(d)); err != nil {
			return fmt.Errorf("bring a folder of simulated daemon %d into trouble: %w", trouble.device, err)
		}
	}
	if len(daemons) > demoAway+1 {
		if err := addUnshared(daemons[demoUnshared]); err != nil {
			return fmt.Errorf("add a folder to a simulated daemon that shares it with nobody: %w", err)
		}
		daemons[demoAway].Stop()
	}
	return nil
}

// Larger demos have these devices, too.
const (
	demoUnshared = 32 // has a folder that it shares with nobody
	demoAway     = 34 // cannot be reached
)

// addUnshared adds a folder that no other device has, as a person at the daemon would.
func addUnshared(d *stsim.Daemon) error {
	return d.Edit(func(doc stconfig.Value) stconfig.Value {
		var members []stconfig.Value
		for member := range doc.Get("folders").Values() {
			members = append(members, member)
		}
		own := members[len(members)-1].With("id", stconfig.Text("drafts")).With("label", stconfig.Text("Drafts")).
			With("path", stconfig.Text("~/Drafts"))
		for share := range own.Get("devices").Values() {
			if share.Get("deviceID").Str() == string(d.ID()) {
				own = own.With("devices", stconfig.List(share))
				break
			}
		}
		return doc.With("folders", stconfig.List(append(members, own)...))
	})
}

// The agents of these devices report special facts.
const (
	demoFullDisk     = 2  // a disk that is nearly full
	demoDriveMissing = 11 // the path of a folder is missing, and the daemon has not noticed
	demoOldAgent     = 14 // an agent that is older than the server
)

// tellDemoDisks makes the agents of a demo report facts about disks.
func tellDemoDisks(daemons []*stsim.Daemon) {
	for i, d := range daemons {
		if !comesByAgent(i) || i == demoOldAgent {
			continue
		}
		disk := tunnel.Space{Free: int64(200+i%700) << 30, Total: 1 << 40}
		if i == demoFullDisk {
			disk.Free = 3 << 30
		}
		facts := tunnel.Disks{Home: disk}
		for _, id := range d.FolderIDs() {
			folder := tunnel.FolderDisk{Folder: id, Space: disk, Path: fleet.PresenceThere, Marker: fleet.PresenceThere}
			if i == demoDriveMissing && id == siteFolder(d) {
				folder.Path, folder.Marker = fleet.PresenceMissing, fleet.PresenceMissing
			}
			facts.Folders = append(facts.Folders, folder)
		}
		d.SetDisks(facts)
	}
	daemons[demoOldAgent].SetAgentList(1)
}

// siteFolder returns the folder that a daemon of a demo shares only with its neighbours.
func siteFolder(d *stsim.Daemon) string {
	folder := ""
	for _, id := range d.FolderIDs() {
		if id != "handbook" {
			folder = id
		}
	}
	return folder
}

func stopped(why stsim.Problem) func(*stsim.Farm, *stsim.Daemon, string) error {
	return func(_ *stsim.Farm, d *stsim.Daemon, folder string) error { return d.StopFolder(folder, why) }
}

func failing(items int, why stsim.Problem) func(*stsim.Farm, *stsim.Daemon, string) error {
	return func(_ *stsim.Farm, d *stsim.Daemon, folder string) error { return d.FailItems(folder, items, why) }
}

func moves(t stsim.Transfer) func(*stsim.Farm, *stsim.Daemon, string) error {
	return func(_ *stsim.Farm, d *stsim.Daemon, folder string) error { return d.Transfer(folder, t) }
}

func lags(files, bytes int64) func(*stsim.Farm, *stsim.Daemon, string) error {
	return func(_ *stsim.Farm, d *stsim.Daemon, folder string) error { return d.Lag(folder, files, bytes) }
}

// cutOff disconnects a daemon from both of its neighbours.
func cutOff(farm *stsim.Farm, d *stsim.Daemon, folder string) error {
	for _, peer := range farm.Daemons() {
		if peer != d && siteFolder(peer) == folder {
			d.Disconnect(peer)
		}
	}
	return nil
}

// edited returns a function that changes the folder's configuration as a person at the daemon would.
func edited(name string, value stconfig.Value) func(*stsim.Farm, *stsim.Daemon, string) error {
	return func(_ *stsim.Farm, d *stsim.Daemon, folder string) error {
		return d.Edit(func(doc stconfig.Value) stconfig.Value {
			var members []stconfig.Value
			for member := range doc.Get("folders").Values() {
				if member.Get("id").Str() == folder {
					member = member.With(name, value)
				}
				members = append(members, member)
			}
			return doc.With("folders", stconfig.List(members...))
		})
	}
}

func editedLocally(farm *stsim.Farm, d *stsim.Daemon, folder string) error {
	if err := edited("type", stconfig.Text("receiveonly"))(farm, d, folder); err != nil {
		return err
	}
	return d.EditLocally(folder, 4, 9<<20)
}

func overruled(farm *stsim.Farm, d *stsim.Daemon, folder string) error {
	if err := edited("type", stconfig.Text("sendonly"))(farm, d, folder); err != nil {
		return err
	}
	return d.Lag(folder, 6, 2<<20)
}

func lostConflict(_ *stsim.Farm, d *stsim.Daemon, folder string) error {
	_, err := d.Conflict(folder, "2016/budget.ods")
	return err
}

// differs gives a daemon files that its neighbours do not know, while the daemon considers the folder up to date.
func differs(_ *stsim.Farm, d *stsim.Daemon, folder string) error {
	return d.SetSummary(folder, func(s *fleet.FolderSummary) {
		s.GlobalFiles, s.LocalFiles, s.InSyncFiles = s.GlobalFiles+7, s.LocalFiles+7, s.InSyncFiles+7
	})
}
