package tunnel

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// Disks are the facts that an agent reports about the disks of its machine.
type Disks struct {
	Home    Space        `json:"home"` // the disk under the daemon's home directory
	Folders []FolderDisk `json:"folders,omitempty"`
}

// FolderDisk describes the path of a folder, which the daemon's own configuration names.
type FolderDisk struct {
	Folder   string         `json:"folder"`
	Space    Space          `json:"space"`
	Versions Space          `json:"versions"` // zero when versions have no path of their own
	Path     fleet.Presence `json:"path"`
	Marker   fleet.Presence `json:"marker"`
}

// Space is the size and the free space of a disk in bytes; zero: not known.
type Space struct {
	Free  int64 `json:"free"`
	Total int64 `json:"total"`
}

const (
	maxDiskFolders = 1000
	maxDiskBytes   = 1 << 60 // No disk is larger.
	disksEvery     = time.Minute
)

// facts converts the report to facts that can be stored and shown. It drops impossible values.
func (d Disks) facts(at time.Time) *fleet.DiskFacts {
	facts := &fleet.DiskFacts{At: at, Home: d.Home.bounded()}
	for _, f := range d.Folders[:min(len(d.Folders), maxDiskFolders)] {
		if f.Folder == "" || printable(f.Folder) != f.Folder {
			continue
		}
		facts.Folders = append(facts.Folders, fleet.FolderDisk{Folder: f.Folder, Space: f.Space.bounded(),
			Versions: f.Versions.bounded(), Path: knownPresence(f.Path), Marker: knownPresence(f.Marker)})
	}
	slices.SortStableFunc(facts.Folders, func(a, b fleet.FolderDisk) int { return strings.Compare(a.Folder, b.Folder) })
	facts.Folders = slices.CompactFunc(facts.Folders, func(a, b fleet.FolderDisk) bool { return a.Folder == b.Folder })
	facts.Folders = slices.Clip(facts.Folders)
	return facts
}

func (s Space) bounded() fleet.DiskSpace {
	if s.Free < 0 || s.Total <= 0 || s.Free > s.Total || s.Total > maxDiskBytes {
		return fleet.DiskSpace{}
	}
	return fleet.DiskSpace{Free: s.Free, Total: s.Total}
}

func knownPresence(p fleet.Presence) fleet.Presence {
	switch p {
	case fleet.PresenceThere:
		return fleet.PresenceThere
	case fleet.PresenceMissing:
		return fleet.PresenceMissing
	}
	return fleet.PresenceUnknown
}

// disksReader decides when to read an agent's facts about disks: when the agent has newer facts than the last ones
// read.
type disksReader struct {
	due   chan struct{} // holds a token while there may be new facts
	limit *rate.Limiter
	told  atomic.Int64 // number of the agent's newest facts
	read  atomic.Int64 // number of the facts that were last read
}

func newDisksReader() disksReader {
	return disksReader{due: make(chan struct{}, 1), limit: rate.NewLimiter(rate.Every(disksEvery), 1)}
}

// note receives the number of the agent's newest facts, from the header of an answer.
func (r *disksReader) note(header string) {
	number, err := strconv.ParseInt(header, 10, 64)
	if err != nil || number == r.read.Load() {
		return
	}
	r.told.Store(number)
	select {
	case r.due <- struct{}{}:
	default:
	}
}

// readDisks reads the facts about disks from the agent of a tunnel. When they change more often than they may be read,
// the next answer of the agent triggers the next reading.
func (h *Hub) readDisks(ctx context.Context, t *Tunnel) {
	number := t.disksReader.told.Load()
	if number == t.disksReader.read.Load() || !t.disksReader.limit.Allow() {
		return
	}
	t.disksReader.read.Store(number)
	text, err := t.exchange(ctx, http.MethodGet, DisksPath, nil, limits{MaxDisksBytes, tellTimeout})
	var disks Disks
	if err == nil {
		err = json.Unmarshal(text, &disks)
	}
	if err != nil {
		h.log.Debug("what an agent tells of its disks is not understood", logkey.Device, t.device, logkey.Err(err))
		return
	}
	t.mu.Lock()
	t.disks = disks.facts(time.Now())
	t.mu.Unlock()
	h.reporter.changed(t.device)
}

// facts returns the last facts about disks, or nil.
func (t *Tunnel) facts() *fleet.DiskFacts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.disks
}
