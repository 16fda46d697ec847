package folders_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/client"
	"muster/internal/adapter/tunnel"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/daemon"
	"muster/test/simulated"
	"muster/test/wait"
)

const handbook = "handbook" // the folder of all simulated daemons

// simulation is a server with three simulated daemons that share a folder.
type simulation struct {
	*world
	first, second, third *stsim.Daemon

	runAgent func() // starts the agent of the first daemon
	endAgent func()
}

// simulatedTrouble is one way in which the folder of the first daemon gets into a state, and out of it.
type simulatedTrouble struct {
	name   string
	make   func(s *simulation) error
	state  fleet.FolderState
	kind   fleet.FolderErrorKind
	reason string // a part of it
	calm   bool   // nobody has to look
	mend   func(s *simulation) error
}

func stop(why stsim.Problem) func(*simulation) error {
	return func(s *simulation) error { return s.first.StopFolder(handbook, why) }
}

func heal(s *simulation) error { return s.first.HealFolder(handbook) }

// set changes the folder in the configuration of the first daemon, as a person there does.
func set(name string, value stconfig.Value) func(*simulation) error {
	return func(s *simulation) error {
		return s.first.Edit(func(doc stconfig.Value) stconfig.Value {
			var folders []stconfig.Value
			for folder := range doc.Get("folders").Values() {
				folders = append(folders, folder.With(name, value))
			}
			return doc.With("folders", stconfig.List(folders...))
		})
	}
}

// inTurn does one thing after the other, up to the first that fails.
func inTurn(steps ...func(*simulation) error) func(*simulation) error {
	return func(s *simulation) error {
		for _, step := range steps {
			if err := step(s); err != nil {
				return err
			}
		}
		return nil
	}
}

// count has the first daemon count more files than there are, of which it says that nothing is missing.
func count(files int64) func(*simulation) error {
	return func(s *simulation) error {
		return s.first.SetSummary(handbook, func(f *fleet.FolderSummary) {
			f.GlobalFiles, f.LocalFiles, f.InSyncFiles = f.GlobalFiles+files, f.LocalFiles+files, f.InSyncFiles+files
		})
	}
}

// sharing is a device in the list of those that share a folder.
func sharing(d *stsim.Daemon) stconfig.Value {
	return stconfig.Obj(stconfig.Member{Name: "deviceID", Value: stconfig.Text(string(d.ID()))})
}

// disk is what the agent of the first daemon tells of the disk of the folder.
func disk(free int64, path fleet.Presence) func(*simulation) error {
	return func(s *simulation) error {
		space := tunnel.Space{Free: free, Total: 1 << 40}
		s.first.SetDisks(tunnel.Disks{Home: tunnel.Space{Free: 1 << 39, Total: 1 << 41}, Folders: []tunnel.FolderDisk{{
			Folder: handbook, Space: space, Path: path, Marker: path}}})
		s.endAgent() // What changes is told at most once a minute, and a new connection tells it at once.
		s.runAgent()
		return nil
	}
}

var roomy = disk(1<<39, fleet.PresenceThere)

var simulatedTroubles = []simulatedTrouble{
	{"a disk nearly full", disk(3<<30, fleet.PresenceThere), fleet.FolderDiskNearlyFull, "",
		"the disk of the folder is nearly full: 3.0 GiB of 1.0 TiB are free", false, roomy},
	{"a drive missing", disk(1<<39, fleet.PresenceMissing), fleet.FolderDriveMissing, "",
		"the path of the folder is not there any more", false, roomy},
	{"a file in conflict", func(s *simulation) error {
		_, err := s.first.Conflict(handbook, "2016/plan.txt")
		return err
	}, fleet.FolderConflicts, "", "one file is in conflict", false, func(s *simulation) error {
		return s.first.Resolve(handbook)
	}},
	{"path missing", stop(stsim.PathMissing), fleet.FolderStopped, fleet.ErrorPathMissing, "path missing", false, heal},
	{
		"marker missing",
		stop(stsim.MarkerMissing),
		fleet.FolderStopped,
		fleet.ErrorMarkerMissing,
		"marker missing",
		false,
		heal,
	},
	{"no space", stop(stsim.NoSpace), fleet.FolderStopped, fleet.ErrorNoSpace, "insufficient space", false, heal},
	{
		"no permission",
		stop(stsim.NoPermission),
		fleet.FolderStopped,
		fleet.ErrorPermission,
		"permission denied",
		false,
		heal,
	},
	{"another error", stop(stsim.OtherProblem), fleet.FolderStopped, fleet.ErrorOther, "input/output", false, heal},
	{"items fail", func(s *simulation) error { return s.first.FailItems(handbook, 3, stsim.NoSpace) },
		fleet.FolderFailedItems, "", "3 items could not be synced", false, heal},
	{"paused", set("paused", stconfig.Boolean(true)), fleet.FolderPaused, "", "paused", true,
		set("paused", stconfig.Boolean(false))},
	{"shared with nobody", func(s *simulation) error {
		return set("devices", stconfig.List(sharing(s.first)))(s)
	}, fleet.FolderUnshared, "", "with no other device", true, func(s *simulation) error {
		var all []stconfig.Value
		for _, d := range []*stsim.Daemon{s.first, s.second, s.third} {
			all = append(all, sharing(d))
		}
		return set("devices", stconfig.List(all...))(s)
	}},
	{"other files than the others", count(7), fleet.FolderDisagree, "", "count different files", false, count(-7)},
	{"an island", func(s *simulation) error {
		s.first.Disconnect(s.second)
		s.first.Disconnect(s.third)
		return nil
	}, fleet.FolderAlone, "", "no device that shares it is connected", false, func(s *simulation) error {
		s.first.Connect(s.second)
		s.first.Connect(s.third)
		return nil
	}},
	{"receive-only, edited", inTurn(set("type", stconfig.Text("receiveonly")), func(s *simulation) error {
		return s.first.EditLocally(handbook, 2, 100)
	}), fleet.FolderLocalChanges, "", "2 items", false, inTurn(heal, set("type", stconfig.Text("sendreceive")))},
	{"send-only, overruled", inTurn(set("type", stconfig.Text("sendonly")), func(s *simulation) error {
		return s.first.Lag(handbook, 2, 100)
	}), fleet.FolderOutOfSync, "", "2 items", false, inTurn(heal, set("type", stconfig.Text("sendreceive")))},
	{"stalled", func(s *simulation) error {
		return s.first.Transfer(handbook, stsim.Transfer{Files: 2, Bytes: 100})
	}, fleet.FolderStalled, "", "nothing has moved", false, heal},
	{"behind", func(s *simulation) error {
		for _, d := range []*stsim.Daemon{s.first, s.second, s.third} {
			if err := d.Lag(handbook, 2, 100); err != nil {
				return err
			}
		}
		return nil
	}, fleet.FolderBehind, "", "no connected device is known to have it", true, func(s *simulation) error {
		for _, d := range []*stsim.Daemon{s.first, s.second, s.third} {
			if err := d.HealFolder(handbook); err != nil {
				return err
			}
		}
		return nil
	}},
	{"syncing", func(s *simulation) error {
		return s.first.Transfer(handbook, stsim.Transfer{Files: 1000, Bytes: 1 << 40, Rate: 1 << 20})
	}, fleet.FolderSyncing, "", "1,000 items", true, heal},
	{"switched off", func(s *simulation) error {
		s.first.Stop()
		return nil
	}, fleet.FolderUnknown, "", "as last known", true, func(s *simulation) error { return s.first.Start() }},
}

// waitFor waits until the folder stands on a daemon as it should.
func (s *simulation) waitFor(t *testing.T, d *stsim.Daemon, what string, want func(api.FolderStanding) bool) {
	t.Helper()
	wait.Until(t, func() string {
		folders, err := s.Client.DeviceFolders(t.Context(), string(d.ID()))
		if err != nil || len(folders) != 1 {
			return fmt.Sprintf("the folders of the device are %+v, %v", folders, err)
		}
		if want(folders[0]) {
			return ""
		}
		return fmt.Sprintf("want %s, got %+v", what, folders[0])
	})
}

func TestEachTroubleOfASimulatedFolderIsSaidAndGoesAgain(t *testing.T) {
	t.Parallel()
	for i, version := range []stsim.Version{stsim.V1, stsim.V2} {
		t.Run(string(version), func(t *testing.T) {
			t.Parallel()
			farm := simulated.Start(t, stsim.Options{Count: 3, Versions: []stsim.Version{version}, Network: 121 + i,
				Timing: stsim.Timing{Summary: 200 * time.Millisecond}})
			r, agents := newReceiver(t), fmt.Sprintf("127.0.0.1:%d", daemon.FreePort(t))
			s := &simulation{&world{Server: startServer(t, r, agents), receiver: r}, farm.Daemon(0), farm.Daemon(1),
				farm.Daemon(2), nil, nil}
			for _, d := range farm.Daemons() {
				if err := d.HealFolder(handbook); err != nil {
					t.Fatal(err)
				}
				s.Register(d.ID(), d.APIKey(), d.Host(), d.Port())
			}
			s.runAgent = func() { s.endAgent = simulated.RunAgents(t, s.first.RunAgent, agents) }
			s.runAgent()
			s.waitCalm(t)
			for _, one := range simulatedTroubles {
				if !t.Run(one.name, func(t *testing.T) { s.tryTrouble(t, one) }) {
					return
				}
			}
		})
	}
}

func (s *simulation) waitCalm(t *testing.T) {
	t.Helper()
	for _, d := range []*stsim.Daemon{s.first, s.second, s.third} {
		s.waitFor(t, d, "up to date without trouble", func(f api.FolderStanding) bool {
			return f.State == fleet.FolderUpToDate.String() && !f.Trouble && f.Peers.Connected == 2
		})
	}
}

func (s *simulation) tryTrouble(t *testing.T, one simulatedTrouble) {
	if err := one.make(s); err != nil {
		t.Fatal(err)
	}
	var got api.FolderStanding
	s.waitFor(t, s.first, one.state.String()+" with "+one.reason, func(f api.FolderStanding) bool {
		got = f
		return f.State == one.state.String() && strings.Contains(f.Reason, one.reason) && f.Trouble != one.calm &&
			errorKind(f) == one.kind
	})
	s.wantSame(t, got)
	id := s.first.ID()
	if !one.calm {
		if got.Next == "" {
			t.Errorf("nothing is said of what to do: %+v", got)
		}
		s.waitCause(t, id, causeOf[one.state], handbook, true)
		s.wantSaid(t, 3, one.reason, "status", id.Short())
		s.wantSaid(t, 3, "`muster device list --waiting "+string(causeOf[one.state])+"` lists them", "status")
		s.wantSaid(t, 0, one.reason, "folder", "get", handbook)
		s.wantSaid(t, 0, string(causeOf[one.state])+": "+handbook, "waiting")
		s.waitTold(t, id, causeOf[one.state], handbook, one.reason, false)
	}
	if err := one.mend(s); err != nil {
		t.Fatal(err)
	}
	s.waitCalm(t)
	if !one.calm {
		s.waitCause(t, id, causeOf[one.state], handbook, false)
		s.waitTold(t, id, causeOf[one.state], handbook, "", true)
	}
}

// causeOf is why a device waits while its folder is in a state.
var causeOf = map[fleet.FolderState]fleet.WaitCause{
	fleet.FolderStopped: fleet.WaitFolderStopped, fleet.FolderFailedItems: fleet.WaitFailedItems,
	fleet.FolderAlone: fleet.WaitAlone, fleet.FolderLocalChanges: fleet.WaitLocalChanges,
	fleet.FolderOutOfSync: fleet.WaitOutOfSync, fleet.FolderStalled: fleet.WaitStalled,
	fleet.FolderConflicts: fleet.WaitConflicts, fleet.FolderDisagree: fleet.WaitDisagree,
	fleet.FolderDiskNearlyFull: fleet.WaitDiskNearlyFull, fleet.FolderDriveMissing: fleet.WaitDriveMissing,
}

// wantSame waits until the list of the folder's devices and the state of the device say what the device's folders do.
func (s *simulation) wantSame(t *testing.T, want api.FolderStanding) {
	t.Helper()
	wait.Until(t, func() string {
		devices, err := s.Client.FolderDevices(t.Context(), handbook, client.List{FolderState: []string{want.State}})
		if err != nil {
			return err.Error()
		}
		if !slices.ContainsFunc(devices, func(f api.FolderStanding) bool {
			return f.DeviceID == want.DeviceID && f.State == want.State && f.Trouble == want.Trouble
		}) {
			return fmt.Sprintf("the devices of the folder are %+v, want %+v among them", devices, want)
		}
		state, err := s.Client.DeviceState(t.Context(), want.DeviceID)
		if err != nil || state.Folders == nil || state.Folders.State != want.State || state.Folders.Folder != handbook {
			return fmt.Sprintf("the state of the device has %+v, %v, want %s", state.Folders, err, want.State)
		}
		return ""
	})
}
