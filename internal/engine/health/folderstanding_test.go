package health

import (
	"strings"
	"testing"
	"time"

	"muster/internal/fleet"
)

const (
	deviceA = fleet.DeviceID("AIR6LPZ-7K4PTTV-UXQSMUU-CPQ5YWH-OEDFIIQ-JUG777G-2YQXXR5-YD6AWQR")
	deviceB = fleet.DeviceID("P56IOI7-MZJNU2Y-IQGDREY-DM2MGTI-MGL3BXN-PQ6W5BM-TBBZ4TJ-XZWICQ2")
	deviceC = fleet.DeviceID("MFZWI3D-BONSGYC-YLTMRWG-C43ENR5-QXGZDMM-FZWI3DP-BONSGYY-LTMRWAD")
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// online is the snapshot of a device that shares folder f with others, is connected to all of them and has all of it.
func online(id fleet.DeviceID, with ...fleet.DeviceID) *fleet.Snapshot {
	return &fleet.Snapshot{
		Device: id, Connection: fleet.Online, Since: noon.Add(-time.Hour), LastSeen: noon,
		Folders: []fleet.FolderLabel{{Folder: "f"}},
		Shares:  []fleet.SharedFolder{{Folder: "f", Type: fleet.SendReceive, With: fleet.PeersOf(append(with, id))}},
		Summaries: map[string]fleet.FolderSummary{"f": {Device: id, Folder: "f", State: "idle", GlobalFiles: 9, LocalFiles: 9,
			StateChanged: noon.Add(-time.Minute),
			UpdatedAt:    noon.Add(-time.Minute)}},
		Connected: fleet.PeersOf(with), ConnectedAt: noon.Add(-time.Hour),
	}
}

// with is a snapshot whose folder has another summary.
func with(s *fleet.Snapshot, change func(*fleet.FolderSummary)) *fleet.Snapshot {
	summary := s.Summaries["f"]
	change(&summary)
	s.Summaries = map[string]fleet.FolderSummary{"f": summary}
	return s
}

func lacking(s *fleet.Snapshot) *fleet.Snapshot {
	return with(s, func(f *fleet.FolderSummary) { f.NeedFiles, f.NeedBytes, f.GlobalBytes = 2, 700, 1400 })
}

// shared is a snapshot whose folder is shared in another way.
func shared(s *fleet.Snapshot, change func(*fleet.SharedFolder)) *fleet.Snapshot {
	share := s.Shares[0]
	change(&share)
	s.Shares = []fleet.SharedFolder{share}
	return s
}

func changed(s *fleet.Snapshot, change func(*fleet.Snapshot)) *fleet.Snapshot {
	change(s)
	return s
}

// TestTheFirstStateThatHoldsIsShown has a case for each state, and for each pair of which one hides the other.
func TestTheFirstStateThatHoldsIsShown(t *testing.T) {
	stopped := func(f *fleet.FolderSummary) { f.State, f.Error = "error", "folder marker missing: stat .stfolder" }
	failed := func(f *fleet.FolderSummary) { f.Failed = 3 }
	hour := noon.Add(-time.Hour)
	for _, c := range []struct {
		name  string
		is    *fleet.Snapshot
		peer  *fleet.Snapshot // device B
		moved time.Time
		rate  float64
		want  fleet.FolderState
		words string // of the reason
	}{
		{name: "nothing is missing", is: online(deviceA, deviceB), want: fleet.FolderUpToDate, words: "nothing is missing"},
		{name: "it scans", is: with(online(deviceA, deviceB), func(f *fleet.FolderSummary) { f.State = "scan-waiting" }),
			want: fleet.FolderScanning},
		{name: "it syncs", is: lacking(online(deviceA, deviceB)), peer: online(deviceB, deviceA), moved: noon,
			want: fleet.FolderSyncing, words: "2 items, 700 B missing"},
		{name: "an unmanaged device sends", is: lacking(online(deviceA, deviceB)), moved: noon, rate: 5,
			want: fleet.FolderSyncing},
		{name: "nobody is known to have it", is: lacking(online(deviceA, deviceB)), peer: lacking(online(deviceB, deviceA)),
			moved: hour, want: fleet.FolderBehind, words: "no connected device is known to have it"},
		{name: "who has it is not online for Muster", is: lacking(online(deviceA, deviceB)),
			peer: changed(online(deviceB, deviceA), func(s *fleet.Snapshot) { s.Connection = fleet.Unreachable }), moved: hour,
			want: fleet.FolderBehind},
		{name: "nothing moves", is: lacking(online(deviceA, deviceB)), peer: online(deviceB, deviceA), moved: hour,
			want: fleet.FolderStalled, words: "nothing has moved for 1h0m"},
		{name: "receive-only, edited", is: with(online(deviceA, deviceB),
			func(f *fleet.FolderSummary) { f.LocalChanges = 1 }), want: fleet.FolderLocalChanges, words: "1 item of"},
		{name: "send-only, overruled", is: shared(lacking(online(deviceA, deviceB)),
			func(s *fleet.SharedFolder) { s.Type = fleet.SendOnly }), peer: online(deviceB, deviceA), moved: hour,
			want: fleet.FolderOutOfSync},
		{name: "the other device is not connected", is: changed(lacking(online(deviceA, deviceB)),
			func(s *fleet.Snapshot) { s.Connected = fleet.Peers{} }), peer: online(deviceB, deviceA), moved: hour,
			want: fleet.FolderAlone, words: "no device that shares it is connected: " + string(deviceB)},
		{name: "the other device did not accept", is: online(deviceA, deviceB),
			peer: changed(online(deviceB), func(s *fleet.Snapshot) { s.Shares = []fleet.SharedFolder{} }),
			want: fleet.FolderAlone, words: "did not accept the folder"},
		{name: "the other device paused it", is: online(deviceA, deviceB),
			peer: shared(online(deviceB, deviceA), func(s *fleet.SharedFolder) { s.Paused = true }), want: fleet.FolderAlone,
			words: "paused the folder"},
		{name: "one of two is connected", is: changed(online(deviceA, deviceB, deviceC),
			func(s *fleet.Snapshot) { s.Connected = fleet.PeersOf([]fleet.DeviceID{deviceC}) }), want: fleet.FolderUpToDate},
		{name: "with nobody", is: online(deviceA), want: fleet.FolderUnshared},
		{name: "paused and with nobody", is: shared(online(deviceA), func(s *fleet.SharedFolder) { s.Paused = true }),
			want: fleet.FolderPaused, words: "the folder is paused"},
		{name: "paused by its summary", is: with(online(deviceA, deviceB), func(f *fleet.FolderSummary) { f.State = "" }),
			want: fleet.FolderPaused},
		{name: "all connections paused", is: changed(online(deviceA, deviceB), func(s *fleet.Snapshot) {
			s.PausedPeers, s.Connected = fleet.PeersOf([]fleet.DeviceID{deviceB}), fleet.Peers{}
		}), want: fleet.FolderPaused, words: "pauses its connections"},
		{name: "failed and paused", is: shared(with(online(deviceA, deviceB), failed),
			func(s *fleet.SharedFolder) { s.Paused = true }), want: fleet.FolderFailedItems,
			words: "3 items could not be synced"},
		{name: "failed and lacking", is: lacking(with(online(deviceA, deviceB), failed)), peer: online(deviceB, deviceA),
			moved: hour, want: fleet.FolderFailedItems},
		{name: "stopped and failed", is: with(with(online(deviceA, deviceB), failed), stopped), want: fleet.FolderStopped,
			words: "folder marker missing"},
		{name: "stopped and never connected", is: with(changed(online(deviceA, deviceB), func(s *fleet.Snapshot) {
			s.ConnectedAt, s.Shares = time.Time{}, nil
		}), stopped), want: fleet.FolderStopped},
		{name: "stopped, and away", is: changed(with(online(deviceA, deviceB), stopped),
			func(s *fleet.Snapshot) { s.Connection = fleet.Unreachable }), want: fleet.FolderUnknown,
			words: "as last known on 2026-05-01 11:59 UTC: the daemon stopped the folder: folder marker missing"},
		{name: "from before the connection", is: changed(online(deviceA, deviceB),
			func(s *fleet.Snapshot) { s.Since = noon }), want: fleet.FolderUnknown, words: "since it was reached"},
		{name: "no summary", is: changed(online(deviceA, deviceB), func(s *fleet.Snapshot) { s.Summaries = nil }),
			want: fleet.FolderUnknown, words: "nothing was ever known"},
		{name: "connections not read", is: changed(online(deviceA, deviceB),
			func(s *fleet.Snapshot) { s.ConnectedAt = time.Time{} }), want: fleet.FolderUnknown,
			words: "connected was not read"},
		{name: "configuration not read", is: changed(online(deviceA, deviceB),
			func(s *fleet.Snapshot) { s.Shares = nil }), want: fleet.FolderUnknown},
		{name: "a word of a later daemon", is: with(online(deviceA, deviceB),
			func(f *fleet.FolderSummary) { f.State = "dancing" }), want: fleet.FolderUnknown, words: `"dancing"`},
	} {
		peers := map[fleet.DeviceID]*fleet.Snapshot{deviceB: c.peer}
		got := FolderStanding(FolderFacts{Snapshot: c.is, Folder: "f", Now: noon, Moved: c.moved, Rate: c.rate,
			Peer: func(id fleet.DeviceID) *fleet.Snapshot { return peers[id] }, Windows: DefaultWindows})
		if got.State != c.want || !strings.Contains(got.Reason, c.words) || got.Reason == "" {
			t.Errorf("%s: it is %v (%s), want %v with %q", c.name, got.State, got.Reason, c.want, c.words)
		}
	}
}

func TestALostFolderIsNeverMendedByAnEmptyOne(t *testing.T) {
	for text, kind := range map[string]fleet.FolderErrorKind{
		"folder path missing":                                                fleet.ErrorPathMissing,
		"folder marker missing (this indicates data loss)":                   fleet.ErrorMarkerMissing,
		"insufficient space in folder X (/x): current 0 B < required 6.0 MB": fleet.ErrorNoSpace,
		"write /x/.tmp: no space left on device":                             fleet.ErrorNoSpace,
		"open /x: permission denied":                                         fleet.ErrorPermission,
		"loading ignores: bad pattern":                                       fleet.ErrorOther,
	} {
		s := with(online(deviceA, deviceB), func(f *fleet.FolderSummary) { f.State, f.Error = "error", text })
		got := FolderStanding(FolderFacts{Snapshot: s, Folder: "f", Now: noon, Windows: DefaultWindows,
			Peer: func(fleet.DeviceID) *fleet.Snapshot { return nil }})
		if got.Error == nil || got.Error.Kind != kind || got.Error.Text != text || got.Next == "" {
			t.Errorf("%s: got %+v, %s", text, got.Error, got.Next)
		}
		lost := kind == fleet.ErrorPathMissing || kind == fleet.ErrorMarkerMissing
		if warns := strings.Contains(got.Next, "delete them on all other devices"); warns != lost {
			t.Errorf("%s: warns: %v: %s", text, warns, got.Next)
		}
	}
}

// Pages show these texts, too, so they name no command: the command line adds the one that helps.
func TestTheNextStepOfAPausedFolderNamesNoCommand(t *testing.T) {
	for _, cause := range []fleet.PauseCause{fleet.PausedByOrder, fleet.PausedByPerson} {
		standing := fleet.FolderStanding{Device: deviceA, Folder: "f", State: fleet.FolderPaused}
		_, next := PausedByText(standing, fleet.PausedBy{Cause: cause}, nil)
		if next == "" || strings.Contains(next, "muster ") {
			t.Errorf("%v: got %q", cause, next)
		}
	}
}
