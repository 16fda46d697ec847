package view

import (
	"context"

	"muster/internal/fleet"
)

// keepLog has the event log find out what of a row changed. Devices are named in it by the letters of their IDs: who
// reads it later may not know of them.
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
	f.EventLog.Stands(row.Device, append(connectionStandings(state, s), f.folderStandings(ctx, row, s)...))
}

// connectionStandings are how connection and configuration stand. A daemon that was not tried yet stands as it did
// before the server started.
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

// lastingConfiguration is how a configuration stands, "" while that is on its way to another state.
func lastingConfiguration(state fleet.State) (is, reason string) {
	switch state.Configuration {
	case fleet.ConfigInSync, fleet.ConfigUnmanaged:
		return string(state.Configuration), ""
	case fleet.ConfigHeld, fleet.ConfigFailed, fleet.ConfigContended, fleet.ConfigUnstable:
		return string(state.Configuration), state.Reason
	}
	return "", ""
}

// folderStandings are how the folders stand. What comes and goes by itself is as good as up to date.
func (f *Feed) folderStandings(ctx context.Context, row *Row, s *fleet.Snapshot) (all []fleet.LogStanding) {
	for folder, state := range row.FolderStates() {
		is := fleet.LogStanding{Kind: fleet.LogFolder, Folder: folder, State: fleet.LoggedUpToDate}
		switch state {
		case fleet.FolderUnknown:
			is.State = ""
		case fleet.FolderUpToDate, fleet.FolderScanning, fleet.FolderSyncing:
		default:
			stands := f.FolderStanding(ctx, s, folder)
			if stands.Trouble || state != fleet.FolderAlone && state != fleet.FolderBehind {
				is.State, is.Reason = state.String(), stands.Reason
			}
		}
		all = append(all, is)
	}
	return all
}
