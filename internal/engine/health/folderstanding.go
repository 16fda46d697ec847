package health

import (
	"fmt"
	"strings"
	"time"

	"muster/internal/fleet"
)

// FolderFacts is the input from which the state of one folder on one device is computed.
type FolderFacts struct {
	Snapshot *fleet.Snapshot // snapshot of the device
	Folder   string
	Peer     func(fleet.DeviceID) *fleet.Snapshot // returns the snapshot of another device; nil when it is not managed
	Moved    time.Time                            // last change of the sequence or of the missing bytes; zero: unknown
	Rate     float64                              // bytes per second that arrive; 0: nothing arrives, or unknown
	Windows  Windows
	Now      time.Time
}

// Windows say how long something must last before it counts.
type Windows struct {
	Trouble  time.Duration // how long a state lasts before it is trouble
	Stalled  time.Duration // how long nothing arrives before the folder is stalled
	Quiet    time.Duration // how long a device may be unreachable where nothing else is set for it; 0: Trouble
	Disagree time.Duration // how long devices count different files, and nothing moves, before they disagree
	Stale    []fleet.StaleRule
}

// DefaultWindows are used where nothing else is set.
var DefaultWindows = Windows{Trouble: 10 * time.Minute, Stalled: 10 * time.Minute, Disagree: 5 * time.Minute}

// judgement is a rule: it tells whether a folder is in a state, and why.
type judgement struct {
	state fleet.FolderState
	judge func(f *FolderFacts) (holds bool)
}

// judgements are the rules by precedence. The first one that applies gives the folder's state.
var judgements = [...]judgement{
	{fleet.FolderUnknown, isUnknown},
	{fleet.FolderStopped, isStopped},
	{fleet.FolderFailedItems, hasFailedItems},
	{fleet.FolderPaused, isPaused},
	{fleet.FolderUnshared, isUnshared},
	{fleet.FolderAlone, isAlone},
	{fleet.FolderOutOfSync, isOutOfSync},
	{fleet.FolderLocalChanges, hasLocalChanges},
	{fleet.FolderStalled, isStalled},
	{fleet.FolderBehind, isBehind},
	{fleet.FolderSyncing, isSyncing},
	{fleet.FolderScanning, isScanning},
}

// FolderState returns the state of a folder on a device: that of the first rule that applies.
func FolderState(f FolderFacts) fleet.FolderState {
	for _, one := range judgements {
		if one.judge(&f) {
			return one.state
		}
	}
	return fleet.FolderUpToDate
}

// lastState returns the state that follows from the last numbers of the device alone.
func lastState(f FolderFacts) (state fleet.FolderState, known bool) {
	if _, known := f.Snapshot.Summaries[f.Folder]; !known {
		return fleet.FolderUnknown, false
	}
	switch {
	case isStopped(&f):
		return fleet.FolderStopped, true
	case hasFailedItems(&f):
		return fleet.FolderFailedItems, true
	case isPaused(&f):
		return fleet.FolderPaused, true
	case isOutOfSync(&f):
		return fleet.FolderOutOfSync, true
	case hasLocalChanges(&f):
		return fleet.FolderLocalChanges, true
	case f.summary().Lacks():
		return fleet.FolderBehind, true
	}
	return fleet.FolderUpToDate, true
}

func (f *FolderFacts) summary() fleet.FolderSummary { return f.Snapshot.Summaries[f.Folder] }

// idleStates are the words of daemons for a folder that has nothing to do; busyStates those of one that works.
var (
	idleStates = map[string]bool{"idle": true, "cleaning": true, "clean-waiting": true}
	scanStates = map[string]bool{"scanning": true, "scan-waiting": true, "starting": true}
	syncStates = map[string]bool{"syncing": true, "sync-preparing": true, "sync-waiting": true}
)

// isUnknown applies when there are no numbers from the present connection, or none that Muster understands.
func isUnknown(f *FolderFacts) bool { return f.unread() != "" }

// unread returns why the numbers of a folder do not describe the present, "" when they do.
func (f *FolderFacts) unread() string {
	s := f.Snapshot
	summary, known := s.Summaries[f.Folder]
	switch {
	case s.Connection != fleet.Online:
		return "the daemon is not online"
	case !known:
		return "the daemon did not tell about the folder yet"
	case !s.IsCurrent(f.Folder):
		return "the daemon did not tell about the folder since it was reached"
	case summary.InError():
		return ""
	case summary.State != "" && !idleStates[summary.State] && !scanStates[summary.State] && !syncStates[summary.State]:
		return fmt.Sprintf("the daemon says that the folder is %q, which Muster does not know", summary.State)
	case f.pausedFolder():
		return ""
	}
	if _, shared := s.Share(f.Folder); !shared {
		return "the daemon's configuration was not read yet"
	}
	if !s.KnowsConnected() {
		return "to which devices the daemon is connected was not read yet"
	}
	return ""
}

func isStopped(f *FolderFacts) bool {
	summary := f.summary()
	return summary.State == fleet.FolderInError || summary.Error != ""
}

func hasFailedItems(f *FolderFacts) bool { return f.summary().Failed > 0 }

func isPaused(f *FolderFacts) bool { return f.pausedFolder() || f.pausedPeers() }

func (f *FolderFacts) pausedFolder() bool {
	return f.Snapshot.IsPaused(f.Folder) || f.summary().State == ""
}

// pausedPeers reports whether the device pauses its connections to all that share the folder.
func (f *FolderFacts) pausedPeers() bool {
	shares := false
	for peer := range f.Snapshot.Sharers(f.Folder) {
		if !f.Snapshot.PausesPeer(peer) {
			return false
		}
		shares = true
	}
	return shares
}

func isUnshared(f *FolderFacts) bool {
	for range f.Snapshot.Sharers(f.Folder) {
		return false
	}
	return true
}

// isAlone applies when no connected device shares the folder too, has accepted it, and has not paused it.
func isAlone(f *FolderFacts) bool {
	for peer := range f.Snapshot.Sharers(f.Folder) {
		if f.isReached(peer) {
			return false
		}
	}
	return true
}

// isReached reports whether a sharer is connected and shares the folder too. For an unmanaged device, only the
// connection is known.
func (f *FolderFacts) isReached(peer fleet.DeviceID) bool {
	if !f.Snapshot.IsConnected(peer) {
		return false
	}
	other := f.Peer(peer)
	if other == nil || other.Shares == nil {
		return true
	}
	share, accepted := other.Share(f.Folder)
	return accepted && !share.Paused && share.With.Has(f.Snapshot.Device)
}

func isOutOfSync(f *FolderFacts) bool {
	share, _ := f.Snapshot.Share(f.Folder)
	return share.Type == fleet.SendOnly && f.summary().Lacks()
}

func hasLocalChanges(f *FolderFacts) bool { return f.summary().LocalChanges > 0 }

func isStalled(f *FolderFacts) bool {
	return f.summary().Lacks() && !f.Moved.IsZero() && f.Now.Sub(f.Moved) >= f.Windows.Stalled && f.isOffered()
}

// isBehind applies while something is missing that no connected device is known to have. While bytes arrive, some
// device has it.
func isBehind(f *FolderFacts) bool { return f.summary().Lacks() && f.Rate <= 0 && !f.isOffered() }

// isOffered reports whether a connected device is known to have what is missing.
func (f *FolderFacts) isOffered() bool {
	for peer := range f.Snapshot.Sharers(f.Folder) {
		if f.holds(peer) {
			return true
		}
	}
	return false
}

// holds reports whether a sharer is connected and known to have all of the folder. Its daemon may not have found yet
// that the drive is missing.
func (f *FolderFacts) holds(peer fleet.DeviceID) bool {
	other := f.Peer(peer)
	return f.isReached(peer) && HasAll(other, f.Folder) &&
		!(other.Disks.Folder(f.Folder).DriveMissing() && f.Windows.knowsDisks(other, f.Now))
}

// HasAll reports whether a device is known to have all of a folder: it is managed, idle and needs nothing itself.
func HasAll(s *fleet.Snapshot, folder string) bool {
	if s == nil || !s.IsCurrent(folder) || s.IsPaused(folder) {
		return false
	}
	summary := s.Summaries[folder]
	return idleStates[summary.State] && !summary.Unscanned() && !summary.InError() && !summary.Lacks()
}

func isSyncing(f *FolderFacts) bool { return f.summary().Lacks() || syncStates[f.summary().State] }

func isScanning(f *FolderFacts) bool { return scanStates[f.summary().State] || f.summary().Unscanned() }

// troubleStates are those that a person should look at once they last.
var troubleStates = map[fleet.FolderState]fleet.WaitCause{
	fleet.FolderStopped: fleet.WaitFolderStopped, fleet.FolderFailedItems: fleet.WaitFailedItems,
	fleet.FolderStalled: fleet.WaitStalled, fleet.FolderAlone: fleet.WaitAlone,
	fleet.FolderOutOfSync: fleet.WaitOutOfSync, fleet.FolderLocalChanges: fleet.WaitLocalChanges,
}

// KindOfFolderError says what kind of error a daemon's text is.
func KindOfFolderError(text string) fleet.FolderErrorKind {
	text = strings.ToLower(text)
	for _, known := range []struct {
		kind  fleet.FolderErrorKind
		parts []string
	}{
		{fleet.ErrorPathMissing, []string{"folder path missing", "path is not a directory", "folder path does not exist"}},
		{fleet.ErrorMarkerMissing, []string{"folder marker missing", "marker missing"}},
		{fleet.ErrorNoSpace, []string{"no space left", "insufficient space", "not enough space", "disk quota exceeded"}},
		{fleet.ErrorPermission, []string{"permission denied", "access is denied", "operation not permitted"}},
	} {
		for _, part := range known.parts {
			if strings.Contains(text, part) {
				return known.kind
			}
		}
	}
	return fleet.ErrorOther
}
