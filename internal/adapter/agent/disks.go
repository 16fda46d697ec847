package agent

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"muster/internal/adapter/tunnel"
	"muster/internal/fleet"
)

const (
	disksEvery = 20 * time.Second
	probeTime  = 5 * time.Second
	maxHanging = 8 // unfinished probes of disks that do not answer; each occupies a thread
)

// disks measures the disks under the paths in the daemon's own configuration: size, free space, and whether the path
// exists. It opens no file, and the manager cannot name a path.
type disks struct {
	paths func() (diskPaths, error)
	find  func(path string) finding

	// Only the goroutine of watch uses wasThere and hanging.
	wasThere map[string]bool           // Paths that existed at some time since the start.
	hanging  map[string]<-chan finding // Probes that did not end in time, by path.

	mu     sync.Mutex // guards the fields below
	number int64      // The number changes with the facts; 0: nothing was measured yet.
	told   tunnel.Disks
}

// diskPaths are the paths where the daemon stores files.
type diskPaths struct {
	home    string
	folders []HomeFolder
}

// finding is the result of one probe.
type finding struct {
	space tunnel.Space
	is    fleet.Presence
}

func newDisks(d *daemon) *disks {
	paths := func() (diskPaths, error) {
		way, err := d.reach()
		if err != nil {
			return diskPaths{}, err
		}
		return diskPaths{way.home.Dir, way.home.Folders}, nil
	}
	return &disks{paths: paths, find: findingAt, wasThere: map[string]bool{}, hanging: map[string]<-chan finding{}}
}

// watch measures at regular intervals until ctx ends.
func (d *disks) watch(ctx context.Context) {
	ticker := time.NewTicker(disksEvery)
	defer ticker.Stop()
	for {
		d.measure()
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// measure probes every path. When a result differs much from the published facts, measure publishes the new ones.
func (d *disks) measure() {
	paths, err := d.paths()
	if err != nil {
		return // The daemon's files cannot be read, so the published facts stay.
	}
	found := tunnel.Disks{Home: d.probe(paths.home).space}
	kept := map[string]bool{}
	for _, folder := range paths.folders {
		at := d.look(folder.Path, kept)
		facts := tunnel.FolderDisk{Folder: folder.ID, Space: at.space, Path: at.is, Marker: fleet.PresenceUnknown}
		marker := filepath.Join(folder.Path, folder.Marker)
		if kept[marker] = true; at.is == fleet.PresenceThere {
			facts.Marker = d.look(marker, kept).is
		}
		if folder.Versions != "" {
			facts.Versions = d.probe(folder.Versions).space
		}
		found.Folders = append(found.Folders, facts)
	}
	for path := range d.wasThere {
		if !kept[path] {
			delete(d.wasThere, path) // The daemon no longer uses this path.
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.number == 0 || changedMuch(d.told, found) {
		d.number, d.told = d.number+1, found
	}
}

// look is probe, but it reports a path as missing only if the path existed before. A path that never existed may be
// one that the agent cannot see although the daemon can, as in a container.
func (d *disks) look(path string, kept map[string]bool) finding {
	at := d.probe(path)
	kept[path] = true
	switch {
	case at.is == fleet.PresenceThere:
		d.wasThere[path] = true
	case !d.wasThere[path]:
		at.is = fleet.PresenceUnknown
	}
	return at
}

// probe examines one path. A disk that does not answer delays only the probes of its own paths.
func (d *disks) probe(path string) finding {
	unknown := finding{is: fleet.PresenceUnknown}
	if before, hangs := d.hanging[path]; hangs {
		select {
		case <-before:
			delete(d.hanging, path)
		default:
			return unknown
		}
	}
	if !filepath.IsAbs(path) || len(d.hanging) >= maxHanging {
		return unknown
	}
	ended := make(chan finding, 1)
	go func() { ended <- d.find(path) }()
	timer := time.NewTimer(probeTime)
	defer timer.Stop()
	select {
	case at := <-ended:
		return at
	case <-timer.C:
		d.hanging[path] = ended
		return unknown
	}
}

func findingAt(path string) finding {
	switch _, err := os.Stat(path); {
	case err == nil:
		return finding{space: spaceAt(path), is: fleet.PresenceThere}
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return finding{is: fleet.PresenceMissing}
	}
	return finding{is: fleet.PresenceUnknown}
}

// changedMuch reports whether facts differ enough to be published again.
func changedMuch(told, found tunnel.Disks) bool {
	if len(told.Folders) != len(found.Folders) || spaceChanged(told.Home, found.Home) {
		return true
	}
	for i, t := range told.Folders {
		f := found.Folders[i]
		if t.Folder != f.Folder || t.Path != f.Path || t.Marker != f.Marker || spaceChanged(t.Space, f.Space) ||
			spaceChanged(t.Versions, f.Versions) {
			return true
		}
	}
	return false
}

// spaceChanged reports whether the size changed by 1 % of the disk, the free space by 10 %, or the disk became nearly
// full or no longer is.
func spaceChanged(told, found tunnel.Space) bool {
	by := max(told.Free-found.Free, found.Free-told.Free)
	return told.Total != found.Total || by > told.Total/100 || by > told.Free/10 ||
		fleet.DiskSpace(told).NearlyFull() != fleet.DiskSpace(found).NearlyFull()
}

// message returns the facts as JSON for the manager.
func (d *disks) message() []byte {
	d.mu.Lock()
	told := d.told
	d.mu.Unlock()
	for {
		text, err := json.Marshal(told)
		if err != nil {
			return []byte("{}")
		}
		if len(text) <= tunnel.MaxDisksBytes {
			return text
		}
		told.Folders = told.Folders[:len(told.Folders)/2]
	}
}

// version returns the number of the published facts, 0 before the first measurement.
func (d *disks) version() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.number
}
