package stsim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// Problem is what keeps a daemon from a folder or from files of it.
type Problem string

const (
	PathMissing   Problem = "path missing"
	MarkerMissing Problem = "marker missing"
	NoSpace       Problem = "no space"
	NoPermission  Problem = "no permission"
	OtherProblem  Problem = "other"
)

// folderText is what the daemon says of a folder that it stopped. The texts are those of 1.19.2.
func (d *Daemon) folderText(why Problem, config stconfig.Value) string {
	m, path := d.machine(), config.Get("path").Str()
	switch why {
	case PathMissing:
		return "folder path missing"
	case MarkerMissing:
		return "folder marker missing (this indicates potential data loss, search docs/forum to get information " +
			"about how to proceed)"
	case NoSpace:
		database := "index-v0.14.0.db"
		if d.Version() == V2 {
			database = "index-v2"
		}
		return fmt.Sprintf("insufficient space on disk for database (%s): current 0.21 %% < required 1 %%",
			m.home+m.separator+database)
	case NoPermission:
		return fmt.Sprintf("stat %s: permission denied", path+m.separator+config.Get("markerName").Str())
	default:
		return fmt.Sprintf("open %s: input/output error", path)
	}
}

// itemText is what the daemon says of an item that it could not sync.
func (d *Daemon) itemText(why Problem, path string, config stconfig.Value) string {
	m, root := d.machine(), config.Get("path").Str()
	switch why {
	case NoSpace:
		return fmt.Sprintf("syncing: insufficient space in folder %q (%s) (%s): current 0.21 %% < required 1 %%\n",
			config.Get("label").Str(), config.Get("id").Str(), root)
	case NoPermission:
		return fmt.Sprintf("finishing: open %s: permission denied", root+m.separator+path)
	default:
		return fmt.Sprintf("finishing: open %s: input/output error", root+m.separator+path)
	}
}

// StopFolder brings a folder into state error. It stays so over restarts, until HealFolder.
func (d *Daemon) StopFolder(id string, why Problem) error {
	config, err := d.folderConfig(id)
	if err != nil {
		return err
	}
	return d.setFolderError(id, d.folderText(why, config))
}

// FailItems makes the first n of the files that a folder lacks fail; it lacks n more where it lacks fewer. With 0 no
// file fails.
func (d *Daemon) FailItems(id string, n int, why Problem) error {
	config, err := d.folderConfig(id)
	if err != nil {
		return err
	}
	numbers, err := d.Summary(id)
	if err != nil {
		return err
	}
	if missing := int64(n) - numbers.NeedFiles; missing > 0 {
		if err := d.Lag(id, missing, missing*fileBytes(numbers)); err != nil {
			return err
		}
		if numbers, err = d.Summary(id); err != nil {
			return err
		}
	}
	files := make([]fileError, n)
	for i := range files {
		path := fileName(numbers.GlobalFiles - numbers.NeedFiles + int64(i))
		files[i] = fileError{Path: path, Error: d.itemText(why, path, config)}
	}
	return d.setFileErrors(id, files...)
}

// Lag makes a folder lack files that its connected peers have now, while it does nothing about it. On a send-only
// folder these are changes of the others.
func (d *Daemon) Lag(id string, files, bytes int64) error {
	if err := d.change(id, func(f *folder) { lag(&f.numbers, files, bytes) }); err != nil {
		return err
	}
	d.addAtPeers(id, files, bytes)
	return nil
}

// lag adds to what the others have and this folder has not.
func lag(s *fleet.FolderSummary, files, bytes int64) {
	s.GlobalFiles, s.NeedFiles = s.GlobalFiles+files, s.NeedFiles+files
	s.GlobalBytes, s.NeedBytes = s.GlobalBytes+bytes, s.NeedBytes+bytes
}

// addAtPeers adds files to a folder at the connected peers. The caller holds no lock.
func (d *Daemon) addAtPeers(id string, files, bytes int64) {
	for _, peer := range d.sharers(id) {
		if to, _ := d.linkTo(string(peer.id)); to == nil {
			continue
		}
		_ = peer.change(id, func(f *folder) { // it fails where the peer has stopped meanwhile
			s := &f.numbers
			s.GlobalFiles, s.LocalFiles = s.GlobalFiles+files, s.LocalFiles+files
			s.GlobalBytes, s.LocalBytes = s.GlobalBytes+bytes, s.LocalBytes+bytes
			s.Sequence += files
		})
	}
}

// fileBytes is the size of a file of a folder, about.
func fileBytes(s fleet.FolderSummary) int64 {
	if s.GlobalFiles <= 0 {
		return 1 << 20
	}
	return max(s.GlobalBytes/s.GlobalFiles, 1)
}

// EditLocally is a person who adds files to a folder that is receive-only: the folder keeps them to itself.
func (d *Daemon) EditLocally(id string, files, bytes int64) error {
	return d.change(id, func(f *folder) {
		f.local.files, f.local.bytes = f.local.files+files, f.local.bytes+bytes
		f.numbers.LocalFiles, f.numbers.LocalBytes = f.numbers.LocalFiles+files, f.numbers.LocalBytes+bytes
		f.numbers.Sequence += files
	})
}

// revert drops what was edited in a receive-only folder.
func revert(f *folder) {
	f.numbers.LocalFiles -= f.local.files
	f.numbers.LocalBytes -= f.local.bytes
	f.numbers.Sequence += f.local.files
	f.local = localChanges{}
}

// override makes what a send-only folder has the state of all: it lacks nothing any more.
func override(f *folder) {
	f.numbers.Sequence += f.numbers.NeedFiles
	complete(&f.numbers)
}

// complete gives a folder all that the others have.
func complete(s *fleet.FolderSummary) {
	s.NeedFiles, s.NeedBytes, s.NeedDeletes, s.NeedDirectories, s.NeedSymlinks = 0, 0, 0, 0, 0
	s.LocalFiles, s.LocalBytes = s.GlobalFiles, s.GlobalBytes
	s.LocalDirectories, s.LocalSymlinks = s.GlobalDirectories, s.GlobalSymlinks
}

// HealFolder ends every trouble of a folder: it runs, nothing fails, and it has what all have.
func (d *Daemon) HealFolder(id string) error {
	if err := d.setFolderError(id, ""); err != nil {
		return err
	}
	if err := d.setFileErrors(id); err != nil {
		return err
	}
	return d.change(id, func(f *folder) {
		revert(f)
		complete(&f.numbers)
		f.numbers.Sequence++
		if f.state == stateSyncing {
			f.run++ // ends a transfer
			d.setState(d.process, id, f, stateIdle, "")
		}
	})
}

// Conflict is a file that this daemon lost to another's change: its own version has a name of its own now, which is
// returned. The counts of files stay.
func (d *Daemon) Conflict(id, path string) (string, error) {
	name := path
	ending := ""
	if i := strings.LastIndexByte(path, '.'); i > strings.LastIndexByte(path, '/')+1 {
		name, ending = path[:i], path[i:]
	}
	loser := name + ".sync-conflict-" + time.Now().UTC().Format("20060102-150405") + "-" + d.id.Short() + ending
	config, err := d.folderConfig(id)
	if err != nil {
		return "", err
	}
	return loser, d.withFolder(id, func(p *process, f *folder) {
		f.conflicts = append(f.conflicts, loser)
		f.conflicted++
		f.numbers.Sequence++
		d.changedOnDisk(p, config, "modified", loser)
		d.indexed(p, id, f, loser)
		d.summariseLater(p, id)
	})
}

// Resolve deletes the files of a folder that lost in conflicts.
func (d *Daemon) Resolve(id string) error {
	config, err := d.folderConfig(id)
	if err != nil {
		return err
	}
	return d.withFolder(id, func(p *process, f *folder) {
		for _, loser := range f.conflicts {
			d.changedOnDisk(p, config, "deleted", loser)
			d.indexed(p, id, f, loser)
		}
		f.conflicts = nil
		f.numbers.Sequence++
		d.summariseLater(p, id)
	})
}

// changedOnDisk tells of a file that this device changed, on the stream of /rest/events/disk.
func (d *Daemon) changedOnDisk(p *process, config stconfig.Value, action, path string) {
	folder := config.Get("id").Str()
	p.log("LocalChangeDetected", entry("action", action, "folder", folder, "folderID", folder,
		"label", config.Get("label").Str(), "modifiedBy", d.id.Short(), "path", path, "type", "file"))
}

// change changes a folder under the lock; a FolderSummary follows.
func (d *Daemon) change(id string, change func(f *folder)) error {
	return d.withFolder(id, func(p *process, f *folder) {
		change(f)
		makeConsistent(&f.numbers)
		d.indexed(p, id, f)
		d.summariseLater(p, id)
	})
}

// makeConsistent computes the numbers that follow from the others.
func makeConsistent(s *fleet.FolderSummary) {
	s.InSyncFiles, s.InSyncBytes = s.GlobalFiles-s.NeedFiles, s.GlobalBytes-s.NeedBytes
	s.Version = s.Sequence
}

// folderConfig is a folder of the configuration.
func (d *Daemon) folderConfig(id string) (stconfig.Value, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	config, err := folders.find(d.doc, id)
	if err != nil {
		return stconfig.Value{}, errNoFolder
	}
	return config, nil
}

// localChanges are what was edited in a receive-only folder.
type localChanges struct{ files, bytes int64 }

// shownErrors are the items that failed, as the daemon lists them: not while the folder is stopped or paused.
func (f *folder) shownErrors() []fileError {
	if f.state == stateOff || f.state == stateError {
		return nil
	}
	return slices.Clone(f.errors)
}
