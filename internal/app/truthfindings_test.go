package app

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"muster/api"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// conflictTruth is what is known of files in conflict. A daemon remembers them until it starts anew.
type conflictTruth struct {
	remembered bool // by the daemon
	read       bool // by Muster, for certain
	maybeRead  bool
}

// certainty tells whether something is shown once it has lasted.
type certainty int

const (
	never certainty = iota
	perhaps
	always
)

// findings are what may be wrong with a folder besides its state.
func (t *truth) findings(i, folder int) map[fleet.WaitCause]certainty {
	disk := t.daemons[i].folders[folder].disk
	return map[fleet.WaitCause]certainty{
		fleet.WaitDriveMissing:   surely(disk.driveMissing()),
		fleet.WaitDiskNearlyFull: surely(t.diskIsFull(i, folder)),
		fleet.WaitDisagree:       t.disagrees(i, folder), fleet.WaitConflicts: t.conflicts(i, folder),
	}
}

// counts tells whether a daemon says that it has all of a folder that it shares, so that its files are compared.
func (t *truth) counts(i, folder int) bool {
	f := &t.daemons[i].folders[folder]
	return t.saysAll(i, folder) && !f.local
}

// disagrees tells whether a daemon counts other files than most of those that share the folder. While a sequence moves
// nobody is told.
func (t *truth) disagrees(i, folder int) certainty {
	if !t.counts(i, folder) {
		return never
	}
	devices, moving, split := map[int64]int{}, false, false
	for j := range truthDaemons {
		f := &t.daemons[j].folders[folder]
		moving = moving || f.moving
		split = split || f.unshared || !t.reachable(j) && t.daemons[j].told[folder].unshared
		if t.counts(j, folder) {
			devices[t.daemons[j].files[folder]]++
		}
	}
	mine := devices[t.daemons[i].files[folder]]
	for files, others := range devices {
		switch {
		case files == t.daemons[i].files[folder] || others < mine:
		case moving || split:
			return perhaps
		default:
			return always
		}
	}
	if split && len(devices) > 1 {
		return perhaps
	}
	return never
}

// conflicts tells whether Muster knows of files of a folder in conflict.
func (t *truth) conflicts(i, folder int) certainty {
	switch c := &t.daemons[i].folders[folder].conflicts; {
	case c.read:
		return always
	case c.remembered, c.maybeRead:
		return perhaps
	}
	return never
}

// count notes how many files the daemons count.
func (s *story) count() {
	for i := range s.daemons {
		for f, folder := range s.folders {
			if summary, err := s.farm.Daemon(i).Summary(folder); err == nil {
				s.daemons[i].files[f] = summary.LocalFiles
			}
		}
	}
}

// conflict has a daemon find a file in conflict. In a paused folder it finds none.
func (s *story) conflict(a act) error {
	f := s.running(a)
	if d := &s.daemons[a.Daemon]; f == nil || f.paused || d.lying || d.silent {
		return nil
	}
	f.conflicts.remembered = true
	_, err := s.farm.Daemon(a.Daemon).Conflict(s.folders[a.Folder], fmt.Sprintf("draft-%d.txt", time.Now().UnixNano()))
	return err
}

// countMore has a daemon count a file more than the others, of which nobody is told.
func (s *story) countMore(a act) error {
	f := s.running(a)
	if f == nil || f.lacks || f.problem != "" {
		return nil
	}
	return s.farm.Daemon(a.Daemon).SetSummary(s.folders[a.Folder], func(f *fleet.FolderSummary) {
		f.LocalFiles, f.GlobalFiles, f.Sequence = f.LocalFiles+1, f.GlobalFiles+1, f.Sequence+1
	})
}

// unshare has a daemon share a folder with nobody, or with all again.
func (s *story) unshare(a act, unshares bool) error {
	f := s.running(a)
	if f == nil || f.unshared == unshares {
		return nil
	}
	f.unshared, f.moving = unshares, false
	var with []stconfig.Value
	for i, d := range s.farm.Daemons() {
		if !unshares || i == a.Daemon {
			with = append(with, stconfig.Obj(stconfig.Member{Name: "deviceID", Value: stconfig.Text(string(d.ID()))}))
		}
	}
	return s.editFolder(a, "devices", stconfig.List(with...))
}

// compareFindings compares what is shown to be wrong with a folder besides its state, or as its state.
func (c *comparison) compareFindings(i, f int, shown api.FolderStanding) {
	long := c.since >= longTime
	c.compareDiskReasons(i, f, shown)
	for cause, is := range c.findings(i, f) {
		present, trouble := finding(shown, cause)
		switch {
		case present && is == never:
			c.failf("folder %d of daemon %d is %s: %+v; it has no %s", f, i, shown.State, shown.Besides, cause)
		case long && is == always && c.reachable(i) && !c.daemons[i].lying && (!present || !trouble):
			c.failf("folder %d of daemon %d is %s: %+v; want trouble %s", f, i, shown.State, shown.Besides, cause)
		}
	}
}

// compareDiskReasons fails where the words about a disk name another thing than the one that is wrong.
func (c *comparison) compareDiskReasons(i, f int, shown api.FolderStanding) {
	disk := c.daemons[i].folders[f].disk
	for _, found := range shown.Besides {
		var words string
		switch found.Cause {
		case string(fleet.WaitDriveMissing):
			if words = "the marker .stfolder is not in"; disk.pathMissing {
				words = "the path of the folder is not there"
			}
		case string(fleet.WaitDiskNearlyFull):
			if words = "the disk of the folder is nearly full"; c.tellsOfHome(i, f) {
				words = "the disk of the daemon's home"
			}
		}
		if found.Reason != "" && !strings.Contains(found.Reason, words) {
			c.failf("folder %d of daemon %d has %s: %s; want %q", f, i, found.Cause, found.Reason, words)
		}
	}
}

// finding tells whether a cause is shown of a folder, as its state or besides it, and whether it is trouble.
func finding(shown api.FolderStanding, cause fleet.WaitCause) (present, trouble bool) {
	if shown.State == string(cause) {
		return true, shown.Trouble
	}
	at := slices.IndexFunc(shown.Besides, func(f api.FolderFinding) bool { return f.Cause == string(cause) })
	return at >= 0, at >= 0 && shown.Besides[at].Trouble
}
