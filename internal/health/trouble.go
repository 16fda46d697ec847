package health

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"muster/internal/fleet"
)

// Report is what is wrong in the fleet, and of what that is not known now.
func (h *Health) Report(r *fleet.Registry, facts func(fleet.DeviceID) Facts) fleet.ProblemReport {
	report := fleet.ProblemReport{}
	unclearOf := map[fleet.DeviceID]unclear{}
	for id, device := range r.Devices {
		f := facts(id)
		state, err := h.State(id, f)
		if err != nil { // not watched yet, or deleted meanwhile
			unclearOf[id] = everything
			continue
		}
		found, not := trouble(f.Snapshot, state)
		for _, c := range found {
			c.Device, c.Label = id, device.Label
			report.Conditions = append(report.Conditions, c)
		}
		if not.anything() {
			unclearOf[id] = not
		}
	}
	report.Unknown = func(key fleet.ProblemKey) bool { return unclearOf[key.Device].has(key) }
	return report
}

// unclear is what cannot be told about a device now.
type unclear struct {
	connection, configuration, allFolders bool
	folders                               []string
}

var everything = unclear{connection: true, configuration: true, allFolders: true}

func (u unclear) anything() bool {
	return u.connection || u.configuration || u.allFolders || len(u.folders) > 0
}

func (u unclear) has(key fleet.ProblemKey) bool {
	switch key.Kind {
	case fleet.ProblemUnreachable:
		return u.connection
	case fleet.ProblemOutOfSync:
		return u.allFolders || slices.Contains(u.folders, key.Folder)
	}
	return u.configuration
}

// trouble is what is wrong with one device, and what cannot be told. Nothing can be told while Muster has not tried to
// reach it since the start, or since it was put, and while watching is paused.
func trouble(s *fleet.Snapshot, state fleet.State) (found []fleet.Condition, not unclear) {
	online := s.Connection == fleet.Online
	switch {
	case !online && s.NextTry.IsZero():
		return nil, everything
	case online:
		found, not.folders = folderTrouble(s)
	default:
		not.allFolders = true
		found = append(found, fleet.Condition{ProblemKey: fleet.ProblemKey{Kind: fleet.ProblemUnreachable},
			Reason: s.Reason, Next: s.Next, Since: s.LastSeen})
	}
	if kind, is := configurationTrouble[state.Configuration]; is {
		found = append(found, fleet.Condition{ProblemKey: fleet.ProblemKey{Kind: kind},
			Reason: state.Reason, Next: state.Next})
	} else if state.Configuration == fleet.ConfigUnknown || state.Configuration == fleet.ConfigApplying {
		not.configuration = true // on its way to somewhere
	}
	return found, not
}

// configurationTrouble has no Since: a device whose held change waits all the time is in other states now and then.
var configurationTrouble = map[fleet.Configuration]fleet.ProblemKind{
	fleet.ConfigHeld: fleet.ProblemHeld, fleet.ConfigFailed: fleet.ProblemFailed,
	fleet.ConfigContended: fleet.ProblemContended, fleet.ConfigUnstable: fleet.ProblemUnstable,
}

// folderTrouble is the folders that are out of sync, and those whose summary is from before the device was reached.
func folderTrouble(s *fleet.Snapshot) (outOfSync []fleet.Condition, unread []string) {
	for _, f := range s.Folders {
		summary, known := s.Summaries[f.Folder]
		switch {
		case !tellable(f.Folder):
		case !known || summary.UpdatedAt.Before(s.Since):
			unread = append(unread, f.Folder)
		default:
			if why := lagging(summary); why != "" {
				outOfSync = append(outOfSync, fleet.Condition{
					ProblemKey: fleet.ProblemKey{Folder: f.Folder, Kind: fleet.ProblemOutOfSync}, Reason: why,
					Next: "Look at the folder on the daemon, and at the devices that share it.",
				})
			}
		}
	}
	return outOfSync, unread
}

// maxToldFolder is the longest folder ID that problems are kept of; real ones are short.
const maxToldFolder = 1 << 10

func tellable(folder string) bool {
	return folder != "" && len(folder) <= maxToldFolder && !strings.Contains(folder, "\x00")
}

// lagging says why a folder is out of sync, "" when it is not.
func lagging(s fleet.FolderSummary) string {
	switch items := s.NeedFiles + s.NeedDirectories + s.NeedSymlinks + s.NeedDeletes; {
	case s.State == fleet.FolderInError:
		return "the folder is in error: " + cmp.Or(s.Error, "the daemon does not say why")
	case items > 0 && s.Error != "":
		return fmt.Sprintf("%d items are missing: %s", items, s.Error)
	case items > 0:
		return fmt.Sprintf("%d items with %d bytes are missing", items, s.NeedBytes)
	case s.NeedBytes > 0:
		return fmt.Sprintf("%d bytes are missing", s.NeedBytes)
	}
	return ""
}
