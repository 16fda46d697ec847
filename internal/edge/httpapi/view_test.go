package httpapi

import (
	"context"
	"maps"

	"muster/internal/engine/health"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// lookAt has the API show a view of snapshots that a test sets, with the states that fakes play.
func (w *world) lookAt(snapshot func(fleet.DeviceID) *fleet.Snapshot, change ...func(*view.Options)) {
	w.with(w.viewOf(snapshot, change...))
}

// viewOf makes a view of snapshots, and gives what has the API use it.
func (w *world) viewOf(snapshot func(fleet.DeviceID) *fleet.Snapshot, change ...func(*view.Options)) func(*setup) {
	o := viewOptions(w.fakes.State, snapshot)
	for _, change := range change {
		change(&o)
	}
	w.marked = map[fleet.DeviceID]bool{}
	o.Changed = w.takeMarks
	v := view.New(o)
	w.view = v
	return func(o *setup) { o.Inventory, o.Folders, o.Files, o.Answers = v, v, v, v }
}

// viewOptions are those of a view of states and snapshots.
func viewOptions(state func(context.Context, fleet.DeviceID) (fleet.State, error),
	snapshot func(fleet.DeviceID) *fleet.Snapshot) view.Options {
	folderState := func(s *fleet.Snapshot, folder string) (fleet.FolderState, bool) {
		return playedFolderState(s, folder), false
	}
	return view.Options{State: state, Snapshot: snapshot, FolderState: folderState,
		Causes: func(state fleet.State, s *fleet.Snapshot) []fleet.WaitCause {
			return health.CausesOf(state, s, false, false, nil)
		},
		FolderTroubles: func(fleet.DeviceID) []fleet.FolderTrouble { return nil },
		FolderStanding: playedStanding,
		Wire:           Wire{}, Changed: func() map[fleet.DeviceID]bool { return nil }}
}

// playedFolderState is the state of a folder in these tests, by its summary alone.
func playedFolderState(s *fleet.Snapshot, folder string) fleet.FolderState {
	summary, known := s.Summaries[folder]
	switch {
	case !known || s.Connection != fleet.Online:
		return fleet.FolderUnknown
	case summary.State == fleet.FolderInError:
		return fleet.FolderStopped
	case summary.State == "":
		return fleet.FolderPaused
	case summary.State == "syncing":
		return fleet.FolderSyncing
	case summary.Lacks():
		return fleet.FolderBehind
	}
	return fleet.FolderUpToDate
}

// playedStanding is how a folder stands in these tests: health's judgement has its own.
func playedStanding(_ context.Context, s *fleet.Snapshot, folder string) fleet.FolderStanding {
	summary := s.Summaries[folder]
	standing := fleet.FolderStanding{Device: s.Device, Folder: folder, State: playedFolderState(s, folder),
		Reason: "it was played", Since: s.Since, AsOf: summary.UpdatedAt,
		Progress: fleet.Progress{NeedBytes: summary.NeedBytes, GlobalBytes: summary.GlobalBytes}}
	if summary.Error != "" {
		standing.Error = &fleet.FolderError{Kind: fleet.ErrorMarkerMissing, Text: summary.Error}
	}
	return standing
}

func noSnapshot(fleet.DeviceID) *fleet.Snapshot { return nil }

// changed marks a device in the view.
func (w *world) changed(id fleet.DeviceID) { w.marked[id] = true }

func (w *world) takeMarks() map[fleet.DeviceID]bool {
	marked := maps.Clone(w.marked)
	clear(w.marked)
	return marked
}

// viewed are the folders of a view.
type viewed = Folders

// listed are folders that a test lists by hand.
type listed struct {
	viewed
	fakes *fakes
}

func (l listed) Folders(context.Context, *fleet.Registry) ([]fleet.FolderLabel, view.Source, error) {
	return l.fakes.folders, view.Source{Of: "folders", State: new(int)}, nil
}
