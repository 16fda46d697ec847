package stsim

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Folder states, as the daemon writes them.
const (
	stateStarting  = "starting"
	stateWaiting   = "scan-waiting"
	stateScanning  = "scanning"
	stateIdle      = "idle"
	statePreparing = "sync-preparing"
	stateSyncing   = "syncing"
	stateError     = "error"
	stateOff       = "" // paused: no folder runs
)

var errNoFolder = errors.New("no such folder")

// fileError is one file that a folder cannot bring in.
type fileError struct {
	Path  string `json:"path"`
	Error string `json:"error"`
}

// folder is what a daemon knows about one folder of its configuration.
type folder struct {
	run       int // counts the folder's restarts: what an older run had planned is void
	state     string
	changed   time.Time
	err       string
	forced    string // error set by setFolderError: stays over restarts
	numbers   fleet.FolderSummary
	errors    []fileError
	ignores   []string
	local     localChanges // Edits of a receive-only folder.
	conflicts []string     // files that lost, by their new names
	// conflicted counts the conflicts since the daemon's start.
	conflicted int
	heard      map[fleet.DeviceID]int64 // sequences of the peers that Disconnect cut off, when it did
	queued     bool                     // a FolderSummary is on its way
	fresh      bool                     // It was not scanned yet.
}

// startFolders brings every folder up at once, without the events of a scan: no client listens yet. The caller holds
// mu.
func (d *Daemon) startFolders(p *process) {
	for config := range d.doc.Get("folders").Values() {
		id := config.Get("id").Str()
		f := d.folders[id]
		if f == nil {
			f = &folder{numbers: d.farm.contents.summary(d, config)}
			d.folders[id] = f
		}
		f.run++
		f.changed, f.queued = p.started, false
		f.state, f.err = d.health(f, config)
	}
}

// health is the state that a folder comes to when it has started.
func (d *Daemon) health(f *folder, config stconfig.Value) (state, problem string) {
	path := config.Get("path").Str()
	switch {
	case config.Get("paused").IsTrue():
		return stateOff, ""
	case f.forced != "":
		return stateError, f.forced
	case slices.ContainsFunc(d.farm.options.Broken, func(prefix string) bool { return strings.HasPrefix(path, prefix) }):
		return stateError, "folder path missing"
	}
	if problem := unreadable(f.ignores); problem != "" {
		return stateError, "loading ignores: " + problem
	}
	return stateIdle, ""
}

// changeFolders restarts the folders that changed, starts new ones and forgets those that are gone.
func (d *Daemon) changeFolders(p *process, from, to stconfig.Value) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := map[string]stconfig.Value{}
	for config := range from.Values() {
		before[config.Get("id").Str()] = config
	}
	for config := range to.Values() {
		id := config.Get("id").Str()
		was, there := before[id]
		delete(before, id)
		if !there {
			d.folders[id] = &folder{numbers: d.farm.contents.summary(d, config), changed: time.Now(), state: stateIdle,
				fresh: true}
			d.startFolder(p, id, config)
			continue
		}
		if was.Get("paused").IsTrue() != config.Get("paused").IsTrue() {
			name := "FolderResumed"
			if config.Get("paused").IsTrue() {
				name = "FolderPaused"
			}
			p.log(name, stconfig.Obj(stconfig.Member{Name: "id", Value: config.Get("id")},
				stconfig.Member{Name: "label", Value: config.Get("label")}))
		}
		if !was.With("label", config.Get("label")).Equal(config) { // a new label alone restarts nothing
			d.startFolder(p, id, config)
		}
	}
	for id := range before {
		delete(d.folders, id)
	}
}

// startFolder runs a folder through the states of a start. The caller holds mu.
func (d *Daemon) startFolder(p *process, id string, config stconfig.Value) {
	f := d.folders[id]
	if f == nil {
		return
	}
	f.run++
	goal, problem := d.health(f, config)
	if goal == stateOff {
		f.state, f.err = stateOff, ""
		return
	}
	f.state, f.err = stateIdle, ""
	steps := []string{stateWaiting, stateScanning, goal}
	if d.Version() == V2 {
		steps[0] = stateStarting
		steps = slices.Insert(steps, 1, stateWaiting)
	}
	if goal == stateError {
		steps = []string{goal}
	}
	d.step(p, id, f.run, steps, problem)
}

// step brings a folder into the next state after a while, and so on to the last.
func (d *Daemon) step(p *process, id string, run int, states []string, problem string) {
	p.after(d.farm.options.Timing.Scan, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		f := d.folders[id]
		if f == nil || f.run != run || d.process != p {
			return
		}
		if len(states) > 1 {
			d.setState(p, id, f, states[0], "")
			d.step(p, id, run, states[1:], problem)
			return
		}
		d.setState(p, id, f, states[0], problem)
		if f.fresh {
			f.fresh = false
			if f.state == stateIdle {
				d.indexed(p, id, f)
			}
		}
	})
}

// indexed tells about files that were found, if there are any: a summary follows only then. Without names it is some
// file. The caller holds mu.
func (d *Daemon) indexed(p *process, id string, f *folder, names ...string) {
	if f.state != stateIdle && f.state != stateSyncing || f.numbers.LocalFiles+f.numbers.LocalDirectories == 0 {
		return
	}
	items, found := f.numbers.LocalFiles, []stconfig.Value{stconfig.Text(fileName(0))}
	if len(names) > 0 {
		items, found = int64(len(names)), nil
	}
	for _, name := range names {
		found = append(found, stconfig.Text(name))
	}
	p.log("LocalIndexUpdated", stconfig.Obj(
		stconfig.Member{Name: "folder", Value: stconfig.Text(id)},
		stconfig.Member{Name: "items", Value: number(items)},
		stconfig.Member{Name: "filenames", Value: stconfig.List(found...)},
		stconfig.Member{Name: "sequence", Value: number(f.numbers.Sequence)},
		stconfig.Member{Name: "version", Value: number(f.numbers.Version)}))
	d.summariseLater(p, id)
}

// setState is a change of state with its event. The caller holds mu.
func (d *Daemon) setState(p *process, id string, f *folder, state, problem string) {
	if f.state == state && f.err == problem {
		return
	}
	now := time.Now()
	data := []stconfig.Member{
		{Name: "folder", Value: stconfig.Text(id)}, {Name: "from", Value: stconfig.Text(f.state)},
		{Name: "to", Value: stconfig.Text(state)},
		{Name: "duration", Value: floatLiteral(now.Sub(f.changed).Seconds())},
	}
	if problem != "" {
		data = append(data, stconfig.Member{Name: "error", Value: stconfig.Text(problem)})
	}
	f.state, f.err, f.changed = state, problem, now.Truncate(time.Second)
	p.log("StateChanged", stconfig.Obj(data...))
	if problem != "" {
		p.print(warning, "Error on folder "+id+": "+problem)
	}
}

// summariseLater sends a FolderSummary in a while; several changes share one. The caller holds mu.
func (d *Daemon) summariseLater(p *process, id string) {
	f := d.folders[id]
	if f == nil || f.queued {
		return
	}
	f.queued = true
	p.after(d.farm.options.Timing.Summary, func() {
		d.summarise(p, id, d.remoteSequences(id))
		d.tellPeers(id)
	})
}

func (d *Daemon) summarise(p *process, id string, remote stconfig.Value) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.folders[id]
	if f == nil || d.process != p {
		return
	}
	f.queued = false
	if d.Version() == V1 && !p.events.wantsSummaries(time.Now()) {
		return
	}
	config, err := folders.find(d.doc, id)
	if err != nil {
		return
	}
	p.log("FolderSummary", stconfig.Obj(
		stconfig.Member{Name: "folder", Value: stconfig.Text(id)},
		stconfig.Member{Name: "summary", Value: d.summaryValue(f, config, remote)}))
}

// withFolder changes a running folder under the lock.
func (d *Daemon) withFolder(id string, change func(p *process, f *folder)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.folders[id]
	if f == nil || d.process == nil {
		return errNoFolder
	}
	change(d.process, f)
	return nil
}

// SetSummary changes the numbers of a folder; a FolderSummary follows. Device, folder, state and error of the summary
// are not looked at. It may be called while the daemon is down: then nothing follows.
func (d *Daemon) SetSummary(id string, change func(*fleet.FolderSummary)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.folders[id]
	if f == nil {
		return errNoFolder
	}
	change(&f.numbers)
	if p := d.process; p != nil {
		d.indexed(p, id, f)
		d.summariseLater(p, id)
	}
	return nil
}

// setFolderError brings a folder into state error, for good; "" heals it. StateChanged tells so; no summary follows,
// as in the daemon.
func (d *Daemon) setFolderError(id, text string) error {
	return d.withFolder(id, func(p *process, f *folder) {
		f.forced = text
		config, err := folders.find(d.doc, id)
		if err != nil {
			return
		}
		state, problem := d.health(f, config)
		f.run++
		d.setState(p, id, f, state, problem)
	})
}

// setFileErrors makes a folder fail at these files; none heals it. FolderErrors and FolderSummary follow.
func (d *Daemon) setFileErrors(id string, files ...fileError) error {
	return d.withFolder(id, func(p *process, f *folder) {
		f.errors = slices.Clone(files)
		if len(files) > 0 {
			p.print(warning, fmt.Sprintf("Folder %s: %d items failed to sync, the first: %s: %s", id, len(files), files[0].Path,
				strings.TrimSpace(files[0].Error)))
		}
		var list []stconfig.Value
		for _, file := range files {
			list = append(list, stconfig.Obj(
				stconfig.Member{Name: "path", Value: stconfig.Text(file.Path)},
				stconfig.Member{Name: "error", Value: stconfig.Text(file.Error)}))
		}
		p.log("FolderErrors", stconfig.Obj(
			stconfig.Member{Name: "folder", Value: stconfig.Text(id)},
			stconfig.Member{Name: "errors", Value: stconfig.List(list...)}))
		d.summariseLater(p, id)
	})
}

// Summary are the numbers of a folder as /rest/db/status gives them.
func (d *Daemon) Summary(id string) (fleet.FolderSummary, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.folders[id]
	if f == nil {
		return fleet.FolderSummary{}, errNoFolder
	}
	s := f.shown()
	s.Device, s.Folder = d.id, id
	return s, nil
}

// shown are the numbers with state; a folder that does not run shows none.
func (f *folder) shown() fleet.FolderSummary {
	s := f.numbers
	if f.state == stateOff {
		s = fleet.FolderSummary{}
	}
	s.State, s.Error = f.state, f.err
	s.IgnorePatterns = slices.ContainsFunc(f.ignores, func(line string) bool {
		return line != "" &&
			!strings.HasPrefix(line, "//")
	})
	return s
}

// FolderIDs are the folders of the configuration, sorted.
func (d *Daemon) FolderIDs() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.folders))
}
