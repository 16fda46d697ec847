package scale_test

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"muster/api"
	"muster/client"
	"muster/internal/engine/rollout"
	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/server"
	"muster/test/simulated"
	"muster/test/wait"
)

// largeFleet is a fleet of simulated daemons, all registered, tagged and in sync.
type largeFleet struct {
	*server.Server
	farm *stsim.Farm
	t    *testing.T
}

// fleetSize returns the number of daemons.
func fleetSize() int {
	if soaking() {
		return 1000
	}
	return 300
}

func newLargeFleet(t *testing.T, network int) *largeFleet {
	t.Helper()
	farm := simulated.Start(t, stsim.Options{Count: fleetSize(), Seed: 4, Network: network, Shared: true, Quiet: true})
	f := &largeFleet{farm: farm, t: t, Server: server.Start(t, server.Options{Soak: rollout.SimulatedSoakTime})}
	f.Template("set", "options.relaysEnabled", "false", "all") // so that every daemon is managed
	var group errgroup.Group
	group.SetLimit(32)
	for _, d := range farm.Daemons() {
		group.Go(func() error {
			key, address, port := d.APIKey(), d.Host(), int64(d.Port())
			if _, _, err := f.Client.PutDevice(t.Context(), string(d.ID()),
				api.PutDevice{APIKey: &key, APIAddress: &address, APIPort: &port}); err != nil {
				return err
			}
			_, err := f.Client.TagDevice(t.Context(), string(d.ID()), "all")
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	f.awaitIdle()
	return f
}

// awaitIdle waits until every device is online and has what its templates ask for.
func (f *largeFleet) awaitIdle() {
	f.t.Helper()
	wait.Until(f.t, func() string {
		states, err := f.Client.States(f.t.Context(), client.List{})
		if err != nil {
			return err.Error()
		}
		good := 0
		for _, s := range states {
			if s.Connection == string(fleet.Online) && (s.Configuration == string(fleet.ConfigInSync) ||
				s.Configuration == string(fleet.ConfigUnmanaged)) {
				good++
			}
		}
		if good != fleetSize() {
			return fmt.Sprintf("%d of %d devices are in sync", good, fleetSize())
		}
		return ""
	})
}

func (f *largeFleet) newest() api.Rollout {
	f.t.Helper()
	rollouts, err := f.Client.Rollouts(f.t.Context(), client.List{})
	if err != nil {
		f.t.Fatal(err)
	}
	if len(rollouts) == 0 {
		return api.Rollout{}
	}
	return rollouts[0]
}

// comesTo waits until the newest rollout has a status.
func (f *largeFleet) comesTo(want fleet.RolloutStatus) api.Rollout {
	f.t.Helper()
	var r api.Rollout
	wait.Until(f.t, func() string {
		if r = f.newest(); r.Status == string(want) {
			return ""
		}
		return fmt.Sprintf("want %s, got %+v", want, r)
	})
	return r
}

func (f *largeFleet) written() (daemons, writes int) {
	for _, d := range f.farm.Daemons() {
		if n := d.Counters().Writes; n > 0 {
			daemons, writes = daemons+1, writes+n
		}
	}
	return daemons, writes
}

func (f *largeFleet) reset() {
	for _, d := range f.farm.Daemons() {
		d.ResetCounters()
	}
}

// Hundreds of daemons: nothing asked, nothing written; a good change reaches all in three waves; one that breaks every
// daemon that gets it reaches few, halts by itself and is taken back.
func TestALargeFleetIsRolledOutTo(t *testing.T) {
	f := newLargeFleet(t, 93)
	f.steady()
	f.good()
	f.breaking()
}

func (f *largeFleet) steady() {
	f.reset()
	quiet := 30 * time.Second
	if soaking() {
		quiet = 10 * time.Minute
	}
	over := time.NewTimer(quiet)
	defer over.Stop()
	<-over.C
	if daemons, writes := f.written(); writes != 0 {
		f.t.Errorf("%d writes to %d daemons although nobody asked for anything", writes, daemons)
	}
}

func (f *largeFleet) good() {
	f.reset()
	began := time.Now()
	f.Template("set", "options.maxFolderConcurrency", "3", "all")
	r := f.comesTo(fleet.RolloutSucceeded)
	f.t.Logf("a good template reached %d devices in %d waves %v within %v", fleetSize(), r.Wave, r.Waves,
		time.Since(began).Round(100*time.Millisecond))
	if len(r.Waves) != 3 || r.Waves[0] != 1 || r.Waves[1] != fleetSize()/10 {
		f.t.Errorf("got waves %v, want 1, a tenth, the rest", r.Waves)
	}
	f.within(30*time.Second, began)
	for _, d := range f.farm.Daemons() {
		if got := d.Config().Get("options").Get("maxFolderConcurrency").Str(); got != "3" {
			f.t.Fatalf("%s has %q", d.ID().Short(), got)
		}
	}
	if daemons, writes := f.written(); daemons != fleetSize() || writes != fleetSize() {
		f.t.Errorf("%d writes to %d daemons, want one to each", writes, daemons)
	}
}

// within judges a time only in a soak: in its short form the suite shares a machine with others.
func (f *largeFleet) within(goal time.Duration, began time.Time) {
	f.t.Helper()
	if took := time.Since(began); took > goal && soaking() {
		f.t.Errorf("it took %v, the goal is %v", took, goal)
	}
}

func (f *largeFleet) breaking() {
	f.reset()
	began := time.Now()
	broken := f.Template("merge", "folders.broken", `{"label": "broken", "path": "/broken/by-template"}`, "all")
	r := f.comesTo(fleet.RolloutHalted)
	f.t.Logf("halted after %v: %s", time.Since(began).Round(100*time.Millisecond), r.Reason)
	f.within(10*time.Second, began)
	daemons, _ := f.written()
	if most := max(1, fleetSize()/100); daemons > most {
		f.t.Errorf("%d daemons were touched, at most %d may be", daemons, most)
	}
	if r.Halt == nil || r.Halt.Gate != string(fleet.GateFolders) || r.Halt.Device == "" {
		f.t.Errorf("got %+v, want the gate, the device and what it saw", r.Halt)
	}
	began = time.Now()
	planned, err := f.Client.PlanUndo(f.t.Context(), r.ID)
	if err != nil {
		f.t.Fatal(err)
	}
	if _, err := f.Client.UndoRollout(f.t.Context(), r.ID, &planned); err != nil {
		f.t.Fatal(err)
	}
	if back := f.comesTo(fleet.RolloutSucceeded); back.Undoes != r.ID {
		f.t.Errorf("got %+v, want the rollout that takes %d back", back, r.ID)
	}
	f.within(time.Minute, began)
	f.t.Logf("undone after %v", time.Since(began).Round(100*time.Millisecond))
	f.awaitIdle()
	for _, d := range f.farm.Daemons() {
		for _, folder := range d.FolderIDs() {
			if folder == "broken" {
				f.t.Errorf("%s still has the broken folder", d.ID().Short())
			}
		}
	}
	tags, err := f.Client.TemplateTags(f.t.Context(), broken)
	if err != nil || len(tags) != 0 {
		f.t.Errorf("got tags %v (%v), want none as before", tags, err)
	}
}
