package health

import (
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

// TestAFolderThatStoppedBeforeMusterCameIsStoppedSinceThen has a daemon's time count only where its clock is plausible.
func TestAFolderThatStoppedBeforeMusterCameIsStoppedSinceThen(t *testing.T) {
	day := noon.Add(-24 * time.Hour)
	for name, c := range map[string]struct {
		changed, started time.Time
		ahead            time.Duration // the daemon's clock
		want             time.Time
	}{
		"the daemon tells":             {changed: noon.Add(-9 * time.Hour), started: day, want: noon.Add(-9 * time.Hour)},
		"its clock is an hour ahead":   {changed: noon.Add(-9 * time.Hour), started: day, ahead: time.Hour, want: noon},
		"its clock is an hour behind":  {changed: noon.Add(-9 * time.Hour), started: day, ahead: -time.Hour, want: noon},
		"before its start":             {changed: day.Add(-time.Hour), started: day, want: noon},
		"later than now":               {changed: noon.Add(time.Hour), started: day, want: noon},
		"it does not tell":             {started: day, want: noon},
		"it does not say when it came": {changed: noon.Add(-9 * time.Hour), want: noon},
	} {
		s := with(online(deviceA, deviceB), stoppedFolder)
		s = with(s, func(f *fleet.FolderSummary) { f.StateChanged = c.changed })
		s.Status = &fleet.Status{UpdatedAt: noon}
		if !c.started.IsZero() {
			s.Status.StartTime = c.started.Add(c.ahead).Format(time.RFC3339Nano)
			s.Status.Uptime = int64(noon.Sub(c.started) / time.Second)
		}
		f := newFleet(s, online(deviceB, deviceA))
		f.take()
		if got := f.Standing(s, "f", noon); !got.Since.Equal(c.want) {
			t.Errorf("%s: it is stopped since %v, want %v", name, got.Since, c.want)
		}
	}
}

// TestAFolderThatIsNotWatchedSaysSo has the daemon's reason in the folder's, whatever the folder's state is.
func TestAFolderThatIsNotWatchedSaysSo(t *testing.T) {
	unwatched := func(f *fleet.FolderSummary) { f.WatchError = "failed to setup inotify handler" }
	for _, s := range []*fleet.Snapshot{online(deviceA, deviceB), lacking(online(deviceA, deviceB))} {
		f := newFleet(with(s, unwatched), online(deviceB, deviceA))
		f.take()
		got := f.Standing(f.snapshots[deviceA], "f", noon)
		if !strings.Contains(got.Reason, "inotify") || !strings.Contains(got.Next, "watch") || got.Trouble {
			t.Errorf("got %+v", got)
		}
	}
	f := newFleet(with(with(online(deviceA, deviceB), unwatched), stoppedFolder), online(deviceB, deviceA))
	f.take()
	if got := f.Standing(f.snapshots[deviceA], "f", noon); strings.Contains(got.Reason, "inotify") {
		t.Errorf("the remark hides why the folder is stopped: %+v", got)
	}
}

// A folder that lacks something was syncing since the daemon's last scan, hours before it lacked anything.
func TestAFolderIsSyncingSinceTheDaemonSaysOnlyWhileTheDaemonSyncs(t *testing.T) {
	changed := noon.Add(-9 * time.Hour)
	for _, c := range []struct {
		daemon string
		lacks  bool
		state  fleet.FolderState
		want   time.Time
	}{
		{"idle", true, fleet.FolderSyncing, noon}, {"scanning", true, fleet.FolderSyncing, noon},
		{"syncing", true, fleet.FolderSyncing, changed}, {"sync-preparing", false, fleet.FolderSyncing, changed},
		{"scanning", false, fleet.FolderScanning, changed},
	} {
		s := online(deviceA, deviceB)
		if c.lacks {
			s = lacking(s)
		}
		s = with(s, func(f *fleet.FolderSummary) { f.State, f.StateChanged = c.daemon, changed })
		s.Status = &fleet.Status{UpdatedAt: noon, StartTime: noon.Add(-24 * time.Hour).Format(time.RFC3339Nano),
			Uptime: 24 * 60 * 60}
		f := newFleet(s, online(deviceB, deviceA))
		f.take()
		if got := f.Standing(s, "f", noon); got.State != c.state || !got.Since.Equal(c.want) {
			t.Errorf("the daemon is %s (lacks %v): got %v since %v, want %v since %v", c.daemon, c.lacks, got.State,
				got.Since, c.state, c.want)
		}
	}
}
