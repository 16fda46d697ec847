package view

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"muster/internal/fleet"
)

// keepLog passes the states of a row to the event log, which records those that changed. Texts name devices by the
// letters of their IDs, because later readers of the log may not be allowed to know their labels.
func (f *Feed) keepLog(ctx context.Context, row *Row) {
	if f.EventLog == nil || row.Mode == fleet.ModePaused {
		return
	}
	s := f.Snapshot(row.Device.ID)
	if s == nil {
		return
	}
	ctx = fleet.WithScope(ctx, fleet.NoDevices)
	state, err := f.State(ctx, row.Device.ID)
	if err != nil { // it was deleted in between
		return
	}
	f.logged[row.Device.ID] = comparedOf(s)
	f.EventLog.Record(row.Device, append(append(connectionStandings(state, s), peersStanding(s)),
		f.folderStandings(ctx, row, s)...))
}

// isUnlogged reports whether the peers or conflicts of a device differ from those that the event log got last. Rows do
// not contain them.
func (f *Feed) isUnlogged(id fleet.DeviceID) bool {
	was, known := f.logged[id]
	s := f.Snapshot(id)
	if s == nil || !known {
		return false
	}
	is := comparedOf(s)
	return is.peers != was.peers || is.conflictsRead != was.conflictsRead || !maps.Equal(is.conflicts, was.conflicts)
}

// compared holds what isUnlogged compares, so that no snapshot has to stay in memory.
type compared struct {
	peers         string
	conflictsRead bool
	conflicts     map[string]string // states of the folders with conflicts
}

func comparedOf(s *fleet.Snapshot) compared {
	is := compared{peers: peersStanding(s).State, conflictsRead: s.ConflictsRead}
	if n := len(s.Conflicts) + len(s.ConflictsLeftOut); n > 0 {
		is.conflicts = make(map[string]string, n)
	}
	for folder := range s.Conflicts {
		is.conflicts[folder] = conflictStanding(s, folder).State
	}
	for folder := range s.ConflictsLeftOut {
		if _, known := is.conflicts[folder]; known {
			continue
		}
		is.conflicts[folder] = conflictStanding(s, folder).State
	}
	return is
}

// peersStanding returns whether the daemon is connected to any other daemon, and to which. For a device that shares no
// folder the state is "", because it connects to nobody.
func peersStanding(s *fleet.Snapshot) fleet.LogStanding {
	const mostNamed = 5
	is := fleet.LogStanding{Kind: fleet.LogPeers}
	switch {
	case !s.KnowsConnected():
	case s.Connected.Len() == 0:
		if shares(s) {
			is.State = fleet.PeersAlone
		}
	default:
		is.State = fleet.PeersConnected
		var names []string
		for peer := range s.Connected.All() {
			if len(names) == mostNamed {
				names = append(names, fleet.NumberText(s.Connected.Len()-mostNamed)+" more")
				break
			}
			names = append(names, peer.Short())
		}
		is.Reason = strings.Join(names, ", ")
	}
	return is
}

// shares reports whether a device shares any folder with another device.
func shares(s *fleet.Snapshot) bool {
	for _, share := range s.Shares {
		if share.With.Len() > 1 {
			return true
		}
	}
	return false
}

// conflictStanding returns how many files of a folder are in conflict, and the newest. The state is "" (unknown) until
// the conflicts were read since the start, and where there was no room for the name of any.
func conflictStanding(s *fleet.Snapshot, folder string) fleet.LogStanding {
	is := fleet.LogStanding{Kind: fleet.LogConflict, Folder: folder}
	on := s.ConflictsOn(folder)
	switch {
	case on.Files > 0:
		is.State = strconv.Itoa(on.Files)
		count := is.State
		if on.More {
			count = "more than " + count
		}
		is.Reason = fleet.Bounded(fmt.Sprintf("%s, the newest is %q", count, on.Newest.Path))
	case s.ConflictsRead && !on.More:
		is.State = fleet.NoConflicts
	}
	return is
}

// connectionStandings returns the states of connection and configuration. Until Muster has tried to reach the daemon,
// the states of before the server's start stay.
func connectionStandings(state fleet.State, s *fleet.Snapshot) []fleet.LogStanding {
	connection := fleet.LogStanding{Kind: fleet.LogConnection, State: string(state.Connection)}
	configuration := fleet.LogStanding{Kind: fleet.LogConfiguration}
	switch {
	case state.Connection == fleet.Online:
		configuration.State, configuration.Reason = lastingConfiguration(state)
	case s.NextTry.IsZero() && (state.Connection == fleet.NeverSeen || state.Connection == fleet.Unreachable):
		connection.State = ""
	default:
		connection.Reason = state.Reason
	}
	return []fleet.LogStanding{connection, configuration}
}

// lastingConfiguration returns the state of a configuration, "" for a state that is about to change.
func lastingConfiguration(state fleet.State) (is, reason string) {
	switch state.Configuration {
	case fleet.ConfigInSync, fleet.ConfigUnmanaged:
		return string(state.Configuration), ""
	case fleet.ConfigHeld, fleet.ConfigFailed, fleet.ConfigContended, fleet.ConfigUnstable:
		return string(state.Configuration), state.Reason
	}
	return "", ""
}

// folderStandings returns the states of the folders and of their conflicts. States that come and go by themselves are
// recorded as up to date.
func (f *Feed) folderStandings(ctx context.Context, row *Row, s *fleet.Snapshot) (all []fleet.LogStanding) {
	for folder, state := range row.FolderStates() {
		is := fleet.LogStanding{Kind: fleet.LogFolder, Folder: folder, State: fleet.LoggedUpToDate}
		switch state {
		case fleet.FolderUnknown:
			is.State = ""
		case fleet.FolderUpToDate, fleet.FolderScanning, fleet.FolderSyncing, fleet.FolderConflicts:
		default:
			stands := f.FolderStanding(ctx, s, folder)
			if stands.Trouble || state != fleet.FolderAlone && state != fleet.FolderBehind {
				is.State, is.Reason = state.String(), stands.Reason
			}
		}
		all = append(all, is, conflictStanding(s, folder))
	}
	return all
}
