package syncthing

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"

	"muster/internal/fleet"
)

const (
	// maxCount limits a number of bytes or items. The four counts of what is missing can be added. Sums over folders
	// or devices use fleet.AddBytes: eight such numbers overflow.
	maxCount      = 1 << 60
	maxStateBytes = 40      // Syncthing's longest state has 14
	maxErrorBytes = 1 << 10 // bytes of a folder's error, which may contain a path
)

// parseSummary parses /rest/db/status, which has the same form as the summary in a FolderSummary event. An impossible
// count makes the whole summary CodeUnbelievable. A text that is too long is cut.
func parseSummary(folder string, body []byte, l *Limits) (fleet.FolderSummary, error) {
	const during = "read the summary of a folder"
	var w struct {
		fleet.FolderSummary
		PullErrors     int64                      `json:"pullErrors"`
		StateChanged   string                     `json:"stateChanged"`
		RemoteSequence map[string]json.RawMessage `json:"remoteSequence"`
	}
	if err := decode(body, &w, l, during); err != nil {
		return fleet.FolderSummary{}, err
	}
	err := counters(during, w.GlobalBytes, w.GlobalDeleted, w.GlobalDirectories, w.GlobalFiles, w.GlobalSymlinks,
		w.LocalBytes, w.LocalDeleted, w.LocalDirectories, w.LocalFiles, w.LocalSymlinks,
		w.NeedBytes, w.NeedDeletes, w.NeedDirectories, w.NeedFiles, w.NeedSymlinks, w.Sequence, w.Version,
		w.Failed, w.PullErrors, w.LocalChanges, w.LocalChangedBytes)
	if err != nil {
		return fleet.FolderSummary{}, err
	}
	if len(w.State) > maxStateBytes {
		return fleet.FolderSummary{}, disbelieve(during, "its state is no word", nil)
	}
	s := w.FolderSummary
	s.Failed = max(s.Failed, w.PullErrors) // The two are the same number; older daemons have only the second.
	s.Folder, s.State = folder, stateWord(s.State)
	s.Error, s.WatchError = shortText(s.Error, maxErrorBytes), shortText(s.WatchError, maxErrorBytes)
	s.StateChanged = parseTime(w.StateChanged)
	s.Indexes = peersIn(w.RemoteSequence)
	// A daemon computes these two as differences of counters that it reads one after the other, so they may be
	// negative.
	s.InSyncBytes, s.InSyncFiles = max(s.InSyncBytes, 0), max(s.InSyncFiles, 0)
	return s, nil
}

// peersIn returns the devices that are the keys of a map.
func peersIn[T any](byDevice map[string]T) fleet.Peers {
	ids := make([]fleet.DeviceID, 0, len(byDevice))
	for text := range byDevice {
		if id, err := fleet.ParseDeviceID(text); err == nil {
			ids = append(ids, id)
		}
	}
	return fleet.PeersOf(ids)
}

// stateWords are the states that daemons name (lib/model/folderstate.go). Parsed states share these strings, which
// saves memory.
var stateWords = []string{"", "idle", "scanning", "scan-waiting", "syncing", "sync-waiting", "sync-preparing", "error",
	"cleaning", "clean-waiting", "starting", "unknown"}

func stateWord(state string) string {
	if at := slices.Index(stateWords, state); at >= 0 {
		return stateWords[at]
	}
	return shortText(state, maxStateBytes)
}

// parseTime returns zero for a text that is not a time, and for the time that a daemon sends when it has none.
func parseTime(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || t.Year() < 1970 {
		return time.Time{}
	}
	return t.UTC()
}

// shortText returns a daemon's own text, printable and cut to a number of bytes.
func shortText(text string, most int) string {
	const more = "…"
	cut := len(text) > most
	if cut {
		text = text[:most-len(more)]
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, ""))
	if cut {
		return text + more
	}
	return text
}
