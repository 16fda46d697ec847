// Package indexes models daemons that share one folder, for tests: what each has, what each has heard of the others,
// and what each says when it is asked. Files are numbers, and indexes travel in pieces, in any order.
package indexes

import (
	"maps"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"muster/internal/fleet"
)

// Daemon is a device that shares the folder. Versions of files are numbers; the larger is the newer.
type Daemon struct {
	ID    fleet.DeviceID
	Files map[string]int64

	started  int64
	database int64 // The database of the folder has a new number after a reset, and after the folder was added anew.
	changed  int64 // beginning of the folder's state, in full seconds
	sequence int64
	ignored  string // a file that it ignores; "": none
	heard    map[*Daemon]told
	backup   *Daemon // A backup of it; nil: nothing was backed up.
	deaf     bool    // It takes nothing more and says that it lacks nothing, as an encrypted copy after a reset does.
}

// told is what a daemon told of itself.
type told struct {
	database int64 // The index was made from this database.
	sequence int64
	ignored  string
	files    map[string]int64
}

// newest is the newest version of each file that a daemon knows of.
func (d *Daemon) newest() map[string]int64 {
	all := maps.Clone(d.Files)
	for _, is := range d.heard {
		for name, version := range is.files {
			all[name] = max(all[name], version)
		}
	}
	return all
}

func (d *Daemon) pull(now int64) {
	for name, version := range d.newest() {
		if d.Files[name] < version && !d.deaf && name != d.ignored {
			d.sequence++
			d.Files[name], d.changed = version, now/Ticks
		}
	}
}

// lacks counts the newest files that somebody who has these does not have, and does not ignore.
func (d *Daemon) lacks(has map[string]int64, ignored string) (n int64) {
	for name, version := range d.newest() {
		if has[name] < version && name != ignored {
			n++
		}
	}
	return n
}

// World is a fleet whose daemons tell each other in pieces, in any order.
type World struct {
	Now     int64 // counts events; it is the clock, and numbers versions
	Daemons []*Daemon
	Slow    bool // It takes a second to add a folder anew.

	cut map[[2]int]bool
}

// Ticks of the clock are a second.
const Ticks = 40

// New makes a world of n daemons that have no files.
func New(n int) *World {
	w := &World{Now: Ticks, cut: map[[2]int]bool{}}
	for i := range n {
		w.Daemons = append(w.Daemons, &Daemon{ID: idOf(i), started: 1,
			database: 1, changed: 1, Files: map[string]int64{}, heard: map[*Daemon]told{}})
	}
	return w
}

// idOf returns an ID of the length that IDs have.
func idOf(i int) fleet.DeviceID {
	part := strings.Repeat(string(rune('A'+i)), 7)
	return fleet.DeviceID(strings.Join([]string{part, part, part, part, part, part, part, part}, "-"))
}

// Cut cuts the link between two daemons.
func (w *World) Cut(a, b int) { w.cut[[2]int{min(a, b), max(a, b)}] = true }

// Chance decides what happens.
type Chance interface{ IntN(n int) int }

// Drawn has rapid decide.
type Drawn struct{ *rapid.T }

// IntN returns a number below n.
func (d Drawn) IntN(n int) int { return rapid.IntRange(0, n-1).Draw(d.T, "chance") }

var (
	names  = []string{"x", "y", "z"}
	events = []string{"write", "tell", "tell", "tell", "pull", "pull", "cut", "join", "reset", "add anew", "back up",
		"put back", "ignore", "deafen", "wait"}
)

// Event does one thing that may happen at any time.
func (w *World) Event(chance Chance) {
	w.Now++
	a := chance.IntN(len(w.Daemons))
	b := chance.IntN(len(w.Daemons))
	d, peer := w.Daemons[a], w.Daemons[b]
	link := [2]int{min(a, b), max(a, b)}
	switch events[chance.IntN(len(events))] {
	case "write":
		d.sequence++
		d.changed = w.Now / Ticks
		d.Files[names[chance.IntN(len(names))]] = w.Now
	case "tell":
		if a != b && !w.cut[link] {
			d.tell(peer)
		}
	case "pull":
		d.pull(w.Now)
	case "cut":
		w.cut[link] = true
	case "join":
		delete(w.cut, link)
	case "reset": // The database is made anew from what is on the disk; peers keep what they heard.
		d.started = w.Now
		w.addAnew(chance, d)
	case "add anew": // The same, of one folder: it is removed and added again while the daemon runs.
		w.Now += int64(chance.IntN(Ticks))
		if w.Slow {
			w.Now += Ticks
		}
		w.addAnew(chance, d)
	case "back up":
		d.backup = d.clone()
	case "put back": // The daemon is started over an old backup of its database and files; peers keep what they heard.
		if old := d.backup; old != nil {
			d.Files, d.database, d.sequence, d.ignored = maps.Clone(old.Files), old.database, old.sequence, old.ignored
			d.heard, d.started, d.changed = maps.Clone(old.heard), w.Now, w.Now/Ticks
		}
	case "ignore":
		if chance.IntN(5) == 0 {
			d.ignored = []string{"", names[0]}[chance.IntN(2)]
			d.sequence++
			d.changed = w.Now / Ticks
		}
	case "wait":
		w.Now += 1 + int64(chance.IntN(4*Ticks))
	case "deafen":
		d.deaf = chance.IntN(10) == 0
	}
}

func (d *Daemon) clone() *Daemon {
	copied := *d
	copied.Files, copied.heard = maps.Clone(d.Files), maps.Clone(d.heard)
	return &copied
}

// addAnew has a daemon scan what is on the disk, where something may have changed since.
func (w *World) addAnew(chance Chance, d *Daemon) {
	d.database, d.changed, d.heard, d.deaf = w.Now, w.Now/Ticks, map[*Daemon]told{}, false
	has := slices.Sorted(maps.Keys(d.Files))
	const nothing, loses = 0, 1
	meanwhile := chance.IntN(3)
	switch {
	case len(has) == 0 || meanwhile == nothing:
	case meanwhile == loses:
		delete(d.Files, has[0])
	default:
		d.Files[has[0]] = w.Now
	}
	d.sequence = int64(len(d.Files))
}

// tell brings the index of a daemon to a peer. Before they exchange indexes, both learn whether the other's database is
// the one that they know the index of.
func (d *Daemon) tell(peer *Daemon) {
	if d.heard[peer].database != peer.database {
		delete(d.heard, peer)
	}
	peer.heard[d] = told{d.database, d.sequence, d.ignored, maps.Clone(d.Files)}
}

// Settle has all linked daemons tell and take until nothing moves any more.
func (w *World) Settle() {
	for range len(w.Daemons) * 2 {
		for a, d := range w.Daemons {
			for b, peer := range w.Daemons {
				if a != b && !w.cut[[2]int{min(a, b), max(a, b)}] {
					d.tell(peer)
				}
			}
		}
		for _, d := range w.Daemons {
			d.pull(w.Now)
		}
	}
}

// Unrest draws a history: anything happens, then sometimes nothing for so long that all is told and taken.
func (w *World) Unrest(chance Chance) {
	for range chance.IntN(41) {
		w.Event(chance)
	}
	if chance.IntN(4) > 0 {
		w.Settle()
	}
}

// Between is what happens between two requests: mostly nothing.
func (w *World) Between(chance Chance) {
	for range max(0, chance.IntN(8)-4) {
		w.Event(chance)
	}
}

// Clock is the time by the clock of Muster.
func (w *World) Clock() time.Time { return time.UnixMilli(w.Now * 1000 / Ticks) }

// Linked reports whether two daemons have heard of each other.
func (w *World) Linked(a, b *Daemon) bool {
	_, heard := a.heard[b]
	_, hears := b.heard[a]
	return heard && hears
}

// Started is the start of a daemon.
func (d *Daemon) Started() time.Time { return time.Unix(d.started, 0) }

// Status is db/status, with the numbers up to which the daemon knows the index of each peer.
func (d *Daemon) Status() (is fleet.FolderSummary, heard map[fleet.DeviceID]int64) {
	is.State, is.Sequence, is.StateChanged = "idle", d.sequence, time.Unix(d.changed, 0)
	is.LocalFiles, is.GlobalFiles = int64(len(d.Files)), int64(len(d.newest()))
	if is.NeedFiles = d.lacks(d.Files, d.ignored); d.deaf {
		is.NeedFiles, is.GlobalFiles = 0, is.LocalFiles
	}
	is.IgnorePatterns = d.ignored != ""
	heard = map[fleet.DeviceID]int64{}
	for peer, is := range d.heard {
		heard[peer.ID] = is.sequence
	}
	return is, heard
}

// Completion is db/completion of a peer.
func (d *Daemon) Completion(peer *Daemon) fleet.Completion {
	known := d.heard[peer]
	return fleet.Completion{NeedItems: d.lacks(known.files, known.ignored), RemoteState: "valid", Sequence: known.sequence}
}

// Lacking is a file of which somebody has an older version, or none; "": nothing is lacking.
func Lacking(had, has map[string]int64) string {
	for _, file := range slices.Sorted(maps.Keys(had)) {
		if has[file] < had[file] {
			return file
		}
	}
	return ""
}
