package health

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
)

// FolderStanding returns how a folder stands on a device, with figures and texts. Texts name other devices by their
// IDs.
func FolderStanding(f FolderFacts) fleet.FolderStanding {
	s, summary := f.Snapshot, f.summary()
	share, _ := s.Share(f.Folder)
	standing := fleet.FolderStanding{
		Device: s.Device, Folder: f.Folder, State: FolderState(f), AsOf: summary.UpdatedAt,
		Type: share.Type.String(), Paused: f.pausedFolder() && summary.State != fleet.FolderInError, Failed: summary.Failed,
		Conflicts: s.ConflictsOn(f.Folder), LocalChanges: summary.LocalChanges,
		Progress: fleet.Progress{
			GlobalBytes: summary.GlobalBytes, NeedBytes: summary.NeedBytes, NeedDeletes: summary.NeedDeletes,
			NeedItems: summary.NeedFiles + summary.NeedDirectories + summary.NeedSymlinks,
		},
	}
	if isStopped(&f) {
		standing.Error = &fleet.FolderError{Kind: KindOfFolderError(summary.Error), Text: summary.Error}
	}
	for peer := range s.Sharers(f.Folder) {
		standing.PeersShared++
		if s.IsConnected(peer) {
			standing.PeersConnected++
		}
	}
	if standing.State == fleet.FolderUnknown {
		standing.Since = s.Since
		if last, known := lastState(f); known {
			standing.Last = &last
		}
	} else {
		standing.Progress.Rate = f.Rate
	}
	standing.Reason, standing.Next = folderText(&f, standing)
	if text := summary.WatchError; text != "" && !isUnknown(&f) && !isStopped(&f) && !f.pausedFolder() {
		standing.Reason = join("; ", standing.Reason, "the daemon finds changes on the disk by its scans only: "+text)
		standing.Next = join(" ", standing.Next, "Have the daemon watch the folder again (on Linux, raise "+
			"fs.inotify.max_user_watches), or scan more often.")
	}
	standing.Reason, standing.Next = fleet.Bounded(standing.Reason), fleet.Bounded(standing.Next)
	return standing
}

// folderText returns why a folder is in its state, and what a person can do.
func folderText(f *FolderFacts, standing fleet.FolderStanding) (reason, next string) {
	switch standing.State {
	case fleet.FolderUnknown:
		return unknownText(f, standing)
	case fleet.FolderStopped:
		return "the daemon stopped the folder: " + orElse(standing.Error.Text, "it does not say why"),
			nextOfError[standing.Error.Kind]
	case fleet.FolderFailedItems:
		return failedText(f, standing)
	case fleet.FolderPaused:
		return pausedText(f)
	case fleet.FolderUnshared:
		return "the device shares the folder with no other device", "Share it with another device, if that is not meant so."
	case fleet.FolderAlone:
		return aloneText(f)
	case fleet.FolderOutOfSync:
		return "the other devices have something else than this send-only folder: " + missing(standing.Progress),
			"Order override to have them take what this device has, or make the folder send and receive."
	case fleet.FolderLocalChanges:
		return fmt.Sprintf("%s of this receive-only folder %s changed on the device",
				plural(f.summary().LocalChanges, "item"), wasWere(f.summary().LocalChanges)),
			"Order revert to undo them, which deletes what was added here, or make the folder send and receive."
	case fleet.FolderStalled:
		return fmt.Sprintf("%s, a connected device has it, and nothing has moved for %s", missing(standing.Progress),
				durationText(f.Now.Sub(f.Moved))),
			"Look at the daemon's log on both devices, and at their rate limits."
	case fleet.FolderBehind:
		return missing(standing.Progress) + ", and no connected device is known to have it",
			"Start a device that has it, or wait until one is there."
	case fleet.FolderSyncing:
		return missing(standing.Progress), ""
	case fleet.FolderScanning:
		if f.summary().Unscanned() {
			return "the daemon did not look at its disk yet since it started", ""
		}
		return "the daemon looks for changes on its disk", ""
	case fleet.FolderUpToDate, fleet.FolderConflicts, fleet.FolderDisagree, fleet.FolderDiskNearlyFull,
		fleet.FolderDriveMissing: // The texts of findings are their own.
	}
	return "nothing is missing", ""
}

// unknownText says what was known last, and how old that is.
func unknownText(f *FolderFacts, standing fleet.FolderStanding) (reason, next string) {
	reason = f.unread()
	if standing.Last == nil {
		return reason + "; nothing was ever known", f.Snapshot.Next
	}
	reason += fmt.Sprintf("; as last known on %s: ", standing.AsOf.UTC().Format("2006-01-02 15:04 MST"))
	last := standing
	if last.State = *standing.Last; last.State == fleet.FolderUpToDate || last.State == fleet.FolderBehind {
		return reason + missing(standing.Progress), f.Snapshot.Next
	}
	was, then := folderText(f, last)
	return reason + was, join(" ", f.Snapshot.Next, then)
}

const (
	emptyDeletes = "Do NOT put an empty folder in its place: the daemon would take the files for deleted, and " +
		"delete them on all other devices. "
	safeWays = emptyDeletes + "Mount the disk, or restore the folder with its files, or remove the folder from this " +
		"device. "
)

var nextOfError = map[fleet.FolderErrorKind]string{
	fleet.ErrorPathMissing: safeWays + "Only when the files are there again and the marker is not, create an empty " +
		"folder .stfolder among them.",
	fleet.ErrorMarkerMissing: safeWays + "Only when the files are there, create an empty folder .stfolder among them.",
	fleet.ErrorNoSpace:       "Make room on the disk of the folder. The daemon goes on by itself.",
	fleet.ErrorPermission:    "Let the daemon's user read and write the folder. The daemon tries again by itself.",
	fleet.ErrorOther:         "Look at the folder and at the log of the daemon. It tries again by itself.",
}

func failedText(f *FolderFacts, standing fleet.FolderStanding) (reason, next string) {
	reason = fmt.Sprintf("%s could not be synced", plural(standing.Failed, "item"))
	next = "Look at the items and their reasons. The daemon tries again by itself."
	items := f.Snapshot.FailedItems[f.Folder]
	if len(items) == 0 {
		return reason, next
	}
	reason += fmt.Sprintf(", the first is %q: %s", items[0].Path, items[0].Text)
	if kind := KindOfFolderError(items[0].Text); kind == fleet.ErrorNoSpace || kind == fleet.ErrorPermission {
		next = nextOfError[kind]
	}
	return reason, next
}

func pausedText(f *FolderFacts) (reason, next string) {
	if f.pausedFolder() {
		return "the folder is paused on the device", "Resume it: nothing is synced or scanned until then."
	}
	return "the device pauses its connections to all devices that share the folder", "Resume one of them."
}

// PausedByText returns why a folder is paused, and what a person can do, where it is known by whom.
func PausedByText(
	standing fleet.FolderStanding,
	by fleet.PausedBy,
	template func(id int64) string,
) (reason, next string) {
	reason = "the folder is paused on the device"
	if !standing.Paused {
		reason = "the device pauses its connections to all devices that share the folder"
	}
	switch by.Cause {
	case fleet.PausedByTemplate:
		var names []string
		for _, id := range by.Templates {
			names = append(names, template(id))
		}
		return reason + ", as its templates ask: " + orElse(
				someOf(names),
				"they are gone meanwhile",
			), "Change the template, or take its tag off the device: what is resumed at " +
				"the daemon is an edit, and Muster pauses it again."
	case fleet.PausedByOrder:
		who := ""
		if by.By != "" {
			who = " by " + by.By
		}
		return fmt.Sprintf(
				"%s, as Muster's order%s of %s told it to",
				reason,
				who,
				by.At.UTC().Format("2006-01-02 15:04 MST"),
			),
			"Order resume when it may go on."
	case fleet.PausedByPerson:
	}
	if standing.Paused {
		return reason + ": a person at the daemon paused it", "Resume it: nothing is synced or scanned until then."
	}
	return reason + ": a person at the daemon paused them",
		"Resume one of them there, or all by an order."
}

// aloneText says why no sharer is reached.
func aloneText(f *FolderFacts) (reason, next string) {
	var away, unaccepted, paused []string
	for peer := range f.Snapshot.Sharers(f.Folder) {
		switch other := f.Peer(peer); {
		case !f.Snapshot.IsConnected(peer):
			away = append(away, string(peer))
		case other != nil && other.IsPaused(f.Folder):
			paused = append(paused, string(peer))
		default:
			unaccepted = append(unaccepted, string(peer))
		}
	}
	if len(away) > 0 {
		reason = "no device that shares it is connected: " + someOf(away)
		next = "Start one of them, or mend the network between them."
	}
	if len(unaccepted) > 0 {
		reason = join("; ", reason, someOf(unaccepted)+" did not accept the folder, or does not share it any more")
		next = join(" ", next, "Accept the folder there.")
	}
	if len(paused) > 0 {
		reason = join("; ", reason, someOf(paused)+" paused the folder")
		next = join(" ", next, fleet.ResumeThere)
	}
	return reason, next
}

// someOf names a few of many.
func someOf(names []string) string {
	const most = 3
	if len(names) <= most {
		return join(", ", names...)
	}
	return join(", ", slices.Clone(names[:most])...) + more(len(names)-most)
}

// missing says in a few words what is missing.
func missing(p fleet.Progress) string {
	if !p.Lacks() {
		return "nothing is missing"
	}
	return join(", ", unlessZero(p.NeedItems, plural(p.NeedItems, "item")),
		unlessZero(p.NeedBytes, fleet.ByteText(p.NeedBytes)),
		unlessZero(p.NeedDeletes, plural(p.NeedDeletes, "deletion"))) + " missing"
}

// durationText is a duration as exact as a person cares.
func durationText(d time.Duration) string {
	if d < time.Minute {
		return d.Truncate(time.Second).String()
	}
	return strings.TrimSuffix(d.Truncate(time.Minute).String(), "0s")
}

func unlessZero(n int64, text string) string {
	if n == 0 {
		return ""
	}
	return text
}

func plural(n int64, noun string) string { return fleet.Counted(n, noun, noun+"s") }

func wasWere(n int64) string {
	if n == 1 {
		return "was"
	}
	return "were"
}
