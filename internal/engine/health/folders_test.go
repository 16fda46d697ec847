package health

import (
	"maps"
	"slices"
	"testing"
	"time"

	"muster/internal/fleet"
)

// fleetOf is a fleet whose snapshots a test sets, at a time that a test sets.
type fleetOf struct {
	*Folders
	snapshots map[fleet.DeviceID]*fleet.Snapshot
	quiet     map[fleet.DeviceID]time.Duration
	tags      map[fleet.DeviceID][]fleet.Tag
	now       time.Time
}

func newFleet(snapshots ...*fleet.Snapshot) *fleetOf {
	f := &fleetOf{Folders: NewFolders(Windows{}), snapshots: map[fleet.DeviceID]*fleet.Snapshot{},
		quiet: map[fleet.DeviceID]time.Duration{}, now: noon}
	f.put(snapshots...)
	return f
}

func (f *fleetOf) put(snapshots ...*fleet.Snapshot) {
	for _, s := range snapshots {
		f.snapshots[s.Device] = s
	}
	f.take(snapshots...)
}

func (f *fleetOf) take(snapshots ...*fleet.Snapshot) {
	seen := map[fleet.DeviceID]*fleet.Snapshot{}
	for _, s := range snapshots {
		seen[s.Device] = s
	}
	registry := &fleet.Registry{Devices: map[fleet.DeviceID]*fleet.Registered{}}
	for id, quiet := range f.quiet {
		registry.Devices[id] = &fleet.Registered{Settings: fleet.DeviceSettings{QuietAfter: quiet}}
	}
	for id, tags := range f.tags {
		registry.Devices[id] = &fleet.Registered{Device: fleet.Device{ID: id}, Tags: tags}
	}
	f.Update(seen, registry, f.now)
}

// changedNow are the devices that count otherwise since the last call.
func (f *fleetOf) changedNow() []fleet.DeviceID {
	f.take()
	return slices.Sorted(maps.Keys(f.Changed()))
}

func (f *fleetOf) is(t *testing.T, when string, id fleet.DeviceID, want fleet.FolderState, trouble bool) {
	t.Helper()
	f.take()
	got := f.Standing(f.snapshots[id], "f", f.now)
	if state, _ := f.State(id, "f"); got.State != want || got.Trouble != trouble || state != want {
		t.Errorf("%s: it is %v, trouble %v (%s), want %v, %v", when, got.State, got.Trouble, got.Reason, want, trouble)
	}
	if waits := len(f.Troubles(id)) > 0; waits != trouble {
		t.Errorf("%s: it waits for a person: %v", when, waits)
	}
}

func stoppedFolder(f *fleet.FolderSummary) { f.State, f.Error = "error", "folder path missing" }

func TestAFolderIsInTroubleOnceItsStateLasts(t *testing.T) {
	f := newFleet(online(deviceA, deviceB), online(deviceB, deviceA))
	f.is(t, "at first", deviceA, fleet.FolderUpToDate, false)
	f.changedNow()
	f.put(with(online(deviceA, deviceB), stoppedFolder))
	if got := f.changedNow(); !slices.Equal(got, []fleet.DeviceID{deviceA}) {
		t.Errorf("%v count otherwise", got)
	}
	f.is(t, "stopped", deviceA, fleet.FolderStopped, false)
	f.now = f.now.Add(9 * time.Minute)
	if got := f.changedNow(); len(got) > 0 {
		t.Errorf("%v count otherwise too early", got)
	}
	f.now = f.now.Add(time.Minute)
	if got := f.changedNow(); !slices.Equal(got, []fleet.DeviceID{deviceA}) {
		t.Errorf("%v count otherwise once it is trouble", got)
	}
	f.is(t, "after 10 minutes", deviceA, fleet.FolderStopped, true)
	away := with(online(deviceA, deviceB), stoppedFolder)
	away.Connection = fleet.Unreachable
	f.put(away)
	f.is(t, "last known", deviceA, fleet.FolderUnknown, true)
	if got := f.Standing(away, "f", f.now); got.Last == nil || *got.Last != fleet.FolderStopped || got.Progress.Rate != 0 {
		t.Errorf("last known is %v", got.Last)
	}
	f.put(online(deviceA, deviceB))
	f.is(t, "mended and read again", deviceA, fleet.FolderUpToDate, false)
}

func TestTroubleThatIsReadFromTheDatabaseStands(t *testing.T) {
	s := with(online(deviceA, deviceB), stoppedFolder)
	s.Connection, s.Shares = fleet.NeverSeen, nil
	f := newFleet(s)
	f.now = noon.Add(time.Hour)
	f.is(t, "after a start", deviceA, fleet.FolderUnknown, true)
}

func TestWhoSharesAFolderIsJudgedAgainWhenADeviceChanges(t *testing.T) {
	f := newFleet(online(deviceA, deviceB, deviceC), online(deviceB, deviceA, deviceC), online(deviceC, deviceA, deviceB))
	f.changedNow()
	f.put(lacking(online(deviceA, deviceB, deviceC)))
	f.is(t, "two have it", deviceA, fleet.FolderSyncing, false)
	f.put(lacking(online(deviceB, deviceA, deviceC)), lacking(online(deviceC, deviceA, deviceB)))
	f.is(t, "nobody has it", deviceA, fleet.FolderBehind, false)
	f.put(online(deviceC, deviceA, deviceB))
	f.is(t, "one has it again", deviceA, fleet.FolderSyncing, false)
	f.now = f.now.Add(10 * time.Minute)
	f.is(t, "nothing moved for long", deviceA, fleet.FolderStalled, false)
	f.put(with(lacking(online(deviceA, deviceB, deviceC)), func(s *fleet.FolderSummary) { s.NeedBytes-- }))
	f.is(t, "it moved", deviceA, fleet.FolderSyncing, false)

	f.put(online(deviceA, deviceB, deviceC), online(deviceB, deviceA))
	f.is(t, "B shares it with A alone", deviceC, fleet.FolderUpToDate, false)
	f.put(changed(online(deviceA), func(s *fleet.Snapshot) { s.Shares, s.Folders = []fleet.SharedFolder{}, nil }))
	f.is(t, "A has it no more", deviceB, fleet.FolderAlone, false)
	f.is(t, "A has it no more", deviceC, fleet.FolderAlone, false)
	f.Update(map[fleet.DeviceID]*fleet.Snapshot{deviceA: nil}, nil, f.now)
	f.is(t, "A is not managed any more, and connected", deviceB, fleet.FolderUpToDate, false)
}

func TestAFolderWhoseSharersMayBeAwayIsCalm(t *testing.T) {
	laptop := online(deviceB, deviceA)
	laptop.Connection, laptop.LastSeen, laptop.NextTry = fleet.Unreachable, noon, noon
	alone := changed(online(deviceA, deviceB), func(s *fleet.Snapshot) { s.Connected = fleet.Peers{} })
	f := newFleet(alone, laptop)
	f.quiet[deviceB] = 48 * time.Hour
	f.now = noon.Add(10 * time.Hour)
	f.is(t, "at night", deviceA, fleet.FolderAlone, false)
	if f.IsAwayTooLong(laptop, f.now) {
		t.Error("a laptop that may be away is trouble")
	}
	f.changedNow()
	f.now = noon.Add(48 * time.Hour)
	if got := f.changedNow(); !slices.Equal(got, []fleet.DeviceID{deviceA, deviceB}) {
		t.Errorf("%v count otherwise after two days", got)
	}
	f.is(t, "after two days", deviceA, fleet.FolderAlone, true)
	if !f.IsAwayTooLong(laptop, f.now) {
		t.Error("a laptop that is away for too long is no trouble")
	}
}

func TestTheFleetHasATimeThatDevicesMayBeAway(t *testing.T) {
	laptop, server := online(deviceB, deviceA), online(deviceC, deviceA)
	for _, away := range []*fleet.Snapshot{laptop, server} {
		away.Connection, away.LastSeen, away.NextTry = fleet.Unreachable, noon, noon
	}
	f := newFleet(online(deviceA, deviceB), laptop, server)
	f.quiet[deviceC] = time.Hour
	f.SetPolicy(Windows{Quiet: 48 * time.Hour})
	f.now = noon.Add(10 * time.Hour)
	f.changedNow()
	if f.IsAwayTooLong(laptop, f.now) || !f.IsAwayTooLong(server, f.now) {
		t.Error("a device is away by another time than the fleet's, or its own")
	}
	if !f.IsAwayTooLong(laptop, noon.Add(48*time.Hour)) {
		t.Error("a device that is away for longer than the fleet allows is no trouble")
	}
	f.SetPolicy(Windows{})
	if f.changedNow(); !f.IsAwayTooLong(laptop, f.now) {
		t.Error("without a time of the fleet that of trouble does not hold")
	}
}

func TestADeviceIsStaleOnceItWasNotSeenForTheTimeOfItsTags(t *testing.T) {
	laptop, server := online(deviceB, deviceA), online(deviceC, deviceA)
	for _, away := range []*fleet.Snapshot{laptop, server} {
		away.Connection, away.Since, away.LastSeen, away.NextTry = fleet.Unreachable, noon, noon, noon
	}
	f := newFleet(online(deviceA, deviceB), laptop, server)
	f.tags = map[fleet.DeviceID][]fleet.Tag{deviceA: nil, deviceB: {"laptop"}, deviceC: {"server"}}
	rules := []fleet.StaleRule{{Tag: "laptop", After: 90 * 24 * time.Hour}, {After: 30 * 24 * time.Hour}}
	f.SetPolicy(Windows{Stale: rules})
	stale := func(when string, want ...fleet.DeviceID) {
		t.Helper()
		var got []fleet.DeviceID
		for _, s := range f.snapshots {
			if f.IsStale(s, f.now) {
				got = append(got, s.Device)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v are stale, want %v", when, got, want)
		}
	}
	f.now = noon.Add(29 * 24 * time.Hour)
	f.changedNow()
	stale("before")
	f.now = noon.Add(30 * 24 * time.Hour)
	if got := f.changedNow(); !slices.Equal(got, []fleet.DeviceID{deviceC}) {
		t.Errorf("%v count otherwise after 30 days", got)
	}
	stale("after 30 days", deviceC)
	f.now = noon.Add(90 * 24 * time.Hour)
	f.changedNow()
	stale("after 90 days", deviceC, deviceB)
	f.tags[deviceC] = []fleet.Tag{"laptop", "server"}
	f.now = noon.Add(80 * 24 * time.Hour)
	f.changedNow()
	stale("another tag has a longer time")
	f.SetPolicy(Windows{})
	f.now = noon.Add(3000 * 24 * time.Hour)
	f.changedNow()
	stale("no time is set")
}

func TestAStartOfMusterMakesNoDeviceStaleAtOnce(t *testing.T) {
	laptop := online(deviceB, deviceA)
	laptop.Connection, laptop.LastSeen, laptop.NextTry = fleet.Unreachable, noon.Add(-400*24*time.Hour), noon
	laptop.Since = noon // Muster started, and has not reached it yet.
	f := newFleet(laptop)
	f.tags = map[fleet.DeviceID][]fleet.Tag{deviceB: nil}
	f.SetPolicy(Windows{Stale: []fleet.StaleRule{{After: 30 * 24 * time.Hour}}})
	f.changedNow()
	if f.IsStale(laptop, f.now) {
		t.Error("a device is stale before it had time to be found")
	}
	f.now = noon.Add(DefaultWindows.Trouble)
	f.changedNow()
	if !f.IsStale(laptop, f.now) {
		t.Error("a device that was not found is not stale")
	}
}

func TestProgressIsARangeWhileItsRateHolds(t *testing.T) {
	f := newFleet(online(deviceB, deviceA))
	need := int64(100_000)
	step := func(less int64) fleet.Progress {
		need -= less
		f.now = f.now.Add(2 * time.Second)
		f.put(with(online(deviceA, deviceB), func(s *fleet.FolderSummary) {
			s.NeedFiles, s.NeedBytes, s.State = 1, need, "syncing"
			s.Sequence = need
		}))
		return f.Standing(f.snapshots[deviceA], "f", f.now).Progress
	}
	var got fleet.Progress
	for range 30 {
		got = step(1000)
	}
	left := time.Duration(need/500) * time.Second // at 500 bytes a second
	if got.Rate < 499 || got.Rate > 501 || got.DoneFrom.Before(f.now.Add(left-3*time.Second)) ||
		got.DoneFrom.After(f.now.Add(left+time.Second)) || !got.DoneTo.After(got.DoneFrom) {
		t.Errorf(
			"%.0f bytes a second, done from %v to %v, want about %v",
			got.Rate,
			got.DoneFrom,
			got.DoneTo,
			f.now.Add(left),
		)
	}
	for range 10 {
		got = step(0)
	}
	if !got.DoneFrom.IsZero() {
		t.Errorf("it stands still, and is done from %v to %v", got.DoneFrom, got.DoneTo)
	}
	for range 20 {
		got = step(0)
	}
	if got.Rate != 0 {
		t.Errorf("it stands still at %.0f bytes a second", got.Rate)
	}
	if f.is(t, "while it syncs", deviceA, fleet.FolderSyncing, false); step(need).DoneTo != (time.Time{}) {
		t.Error("what has all is not done yet")
	}
}

// A lying daemon costs no more than others.
func TestFiguresThatCannotBeTrueMakeNoFigure(t *testing.T) {
	f := newFleet(online(deviceB, deviceA))
	for _, need := range []int64{1<<63 - 1, -1 << 63, 1<<63 - 1, 5} {
		f.now = f.now.Add(20 * time.Second)
		f.put(with(online(deviceA, deviceB), func(s *fleet.FolderSummary) { s.NeedFiles, s.NeedBytes = 1, need }))
		got := f.Standing(f.snapshots[deviceA], "f", f.now).Progress
		if got.Rate < 0 || got.DoneTo.Before(got.DoneFrom) {
			t.Errorf("%d bytes: %+v", need, got)
		}
	}
}
