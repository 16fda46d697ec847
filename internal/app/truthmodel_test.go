package app

import (
	"fmt"
	"slices"
	"time"

	"muster/internal/fleet"
	"muster/internal/stsim"
	"muster/test/simulated"
)

const (
	truthDaemons = 3
	truthFolders = 2
)

// daemonTruth is how a daemon is, whatever Muster takes it for.
type daemonTruth struct {
	stopped, silent, lying bool
	homeFull               bool // the disk of its home, as its agent tells
	unwatched              bool // Muster was told not to watch it
	pausesPeer             [truthDaemons]bool
	folders                [truthFolders]folderTruth
	reached                bool // since Muster's start
	// told are the folders as Muster read them last, while it does not reach the daemon. unsure tells that it may have
	// read them before the last change.
	told      [truthFolders]folderTruth
	toldWas   [truthFolders][]fleet.FolderState // the states that these may have been shown in; nil: not known
	unsure    bool
	left      time.Time           // when Muster began to lose it
	maybeRead bool                // Muster may have read it since its start
	files     [truthFolders]int64 // how many files it counts
	figures   bool                // Muster was started since: it has the figures alone
}

// folderTruth is how a folder of a daemon is.
type folderTruth struct {
	problem       stsim.Problem
	failed        int
	lacks, moving bool
	local         bool // changes in a receive-only folder
	sendOnly      bool
	receiveOnly   bool
	paused        bool
	unshared      bool
	conflicts     conflictTruth
	disk          diskTruth
}

// truth is how all daemons are.
type truth struct {
	daemons [truthDaemons]daemonTruth
	cut     [truthDaemons][truthDaemons]bool
	changed time.Time // when anything was done last
}

func (t *truth) reachable(i int) bool {
	d := &t.daemons[i]
	return !d.stopped && !d.silent && !d.unwatched
}

// linked tells whether two daemons are connected.
func (t *truth) linked(i, j int) bool {
	a, b := &t.daemons[i], &t.daemons[j]
	return !a.stopped && !b.stopped && !t.cut[i][j] && !a.pausesPeer[j] && !b.pausesPeer[i]
}

// hasAll tells whether Muster knows that a daemon has all of a folder. Where the drive is missing, it has nothing.
func (t *truth) hasAll(j, folder int) bool {
	return t.saysAll(j, folder) && !t.daemons[j].folders[folder].disk.driveMissing()
}

// saysAll tells whether a daemon says that it has all of a folder.
func (t *truth) saysAll(j, folder int) bool {
	f := &t.daemons[j].folders[folder]
	return t.reachable(j) && !t.daemons[j].lying && !f.paused && f.problem == "" && f.failed == 0 && !f.lacks
}

// accepts tells whether a daemon takes part in a folder, as far as Muster knows. sure is false where Muster may know
// something older.
func (t *truth) accepts(j, folder int) (accepts, sure bool) {
	d := &t.daemons[j]
	switch {
	case t.reachable(j):
		return !d.folders[folder].paused && !d.folders[folder].unshared, true
	case !d.reached:
		return true, !d.maybeRead // Muster knows nothing of it
	}
	return !d.told[folder].paused && !d.told[folder].unshared, !d.unsure
}

// states are those in which a folder of a daemon may be shown. What is wrong besides takes the place of up to date.
func (t *truth) states(i, folder int, long bool) (all []fleet.FolderState) {
	for _, state := range t.judged(i, folder, long) {
		if state == fleet.FolderUpToDate {
			all = append(all, t.wrong(i, folder, long)...)
		} else {
			all = append(all, state)
		}
	}
	return all
}

// wrong are the states of a folder that lacks nothing, the worst first: what is wrong besides, or up to date. What the
// agent tells of disks is shown at once.
func (t *truth) wrong(i, folder int, long bool) (all []fleet.FolderState) {
	switch {
	case t.daemons[i].folders[folder].disk.driveMissing():
		return []fleet.FolderState{fleet.FolderDriveMissing}
	case t.diskIsFull(i, folder):
		return []fleet.FolderState{fleet.FolderDiskNearlyFull}
	}
	disagrees, conflicts := t.disagrees(i, folder), t.conflicts(i, folder)
	if disagrees != never {
		all = append(all, fleet.FolderDisagree)
	}
	if conflicts != never && !(long && disagrees == always) {
		all = append(all, fleet.FolderConflicts)
	}
	if !long || disagrees != always && conflicts != always {
		all = append(all, fleet.FolderUpToDate)
	}
	return all
}

// judged are the states in which a folder may be but for what is wrong besides. With much time since the last change it
// is one.
func (t *truth) judged(i, folder int, long bool) []fleet.FolderState {
	d := &t.daemons[i]
	f := &d.folders[folder]
	one := func(state fleet.FolderState) []fleet.FolderState { return []fleet.FolderState{state} }
	switch {
	case !t.reachable(i) || d.lying:
		return one(fleet.FolderUnknown)
	case f.paused:
		return one(fleet.FolderPaused)
	case f.problem != "":
		return one(fleet.FolderStopped)
	case f.failed > 0:
		return one(fleet.FolderFailedItems)
	case f.unshared:
		return one(fleet.FolderUnshared)
	}
	pauses, sureReached, maybeReached, offered, maybeOffered := true, false, false, false, false
	for j := range truthDaemons {
		if j == i {
			continue
		}
		pauses = pauses && d.pausesPeer[j]
		accepts, sure := t.accepts(j, folder)
		if !t.linked(i, j) || !accepts && sure {
			continue
		}
		maybeReached = true
		sureReached = sureReached || sure
		offered = offered || sure && t.hasAll(j, folder)
		maybeOffered = maybeOffered || t.hasAll(j, folder)
	}
	var all []fleet.FolderState
	if pauses {
		return one(fleet.FolderPaused)
	}
	if !sureReached {
		all = append(all, fleet.FolderAlone)
	}
	if !maybeReached {
		return all
	}
	switch {
	case f.sendOnly && f.lacks:
		return append(all, fleet.FolderOutOfSync)
	case f.local:
		return append(all, fleet.FolderLocalChanges)
	case !f.lacks:
		return append(all, fleet.FolderUpToDate)
	case f.moving:
		return append(all, fleet.FolderSyncing)
	}
	if maybeOffered {
		all = append(all, fleet.FolderStalled)
		if !long {
			all = append(all, fleet.FolderSyncing)
		}
	}
	if !offered {
		all = append(all, fleet.FolderBehind)
	}
	return all
}

// may tells whether a folder of a daemon may be shown as up to date, and as one that only lacks something.
func (t *truth) may(i, folder int) (upToDate, lack bool) {
	for _, state := range t.states(i, folder, false) {
		switch state {
		case fleet.FolderUpToDate:
			upToDate = true
		case fleet.FolderSyncing, fleet.FolderStalled, fleet.FolderBehind:
			lack = true
		}
	}
	return upToDate, lack || upToDate
}

// lastStates are those in which a folder of a daemon that is not reached may be shown to have been; nil: any.
func (t *truth) lastStates(i, folder int) []fleet.FolderState {
	d := &t.daemons[i]
	if d.unsure {
		return nil
	}
	if !d.figures {
		return d.toldWas[folder]
	}
	f := &d.told[folder]
	switch {
	case f.paused:
		return []fleet.FolderState{fleet.FolderPaused}
	case f.problem != "":
		return []fleet.FolderState{fleet.FolderStopped}
	case f.failed > 0:
		return []fleet.FolderState{fleet.FolderFailedItems}
	case f.local:
		return []fleet.FolderState{fleet.FolderLocalChanges}
	case f.lacks:
		return []fleet.FolderState{fleet.FolderBehind, fleet.FolderOutOfSync}
	}
	return []fleet.FolderState{fleet.FolderUpToDate}
}

// inTime is how long Muster has from a change at a daemon until it does not show the daemon's folders as good any more.
const inTime = 5 * time.Second

// leave notes what Muster knows of a daemon that it is about to lose.
func (t *truth) leave(i int) {
	d := &t.daemons[i]
	if !t.reachable(i) {
		return
	}
	d.unsure = time.Since(t.changed) < inTime || !d.reached || d.lying
	d.maybeRead = !d.reached
	d.figures, d.left = false, time.Now()
	for folder := range truthFolders {
		d.told[folder] = d.folders[folder]
		d.toldWas[folder] = t.states(i, folder, time.Since(t.changed) >= longTime)
	}
	for other := range t.daemons {
		if t.isGoing(other) {
			d.toldWas = [truthFolders][]fleet.FolderState{}
		}
	}
}

// isGoing tells whether Muster may not miss a daemon yet that it cannot reach any more.
func (t *truth) isGoing(i int) bool {
	limit := inTime
	if t.daemons[i].silent {
		limit = silentTime
	}
	return !t.reachable(i) && time.Since(t.daemons[i].left) < limit
}

// blur notes that something is about to happen. It may still change how Muster shows the folders of daemons that it
// does not miss yet.
func (t *truth) blur() {
	for i := range t.daemons {
		if t.isGoing(i) {
			t.daemons[i].toldWas = [truthFolders][]fleet.FolderState{}
		}
	}
}

// hadTime notes that Muster had the time to reach the daemons that it can reach.
func (t *truth) hadTime() {
	for i := range t.daemons {
		if !t.reachable(i) {
			continue
		}
		t.daemons[i].reached = true
		for folder := range truthFolders {
			c := &t.daemons[i].folders[folder].conflicts
			c.read = c.read || c.remembered && !t.daemons[i].lying
		}
	}
}

// act is one thing that happens. Wait is how long nothing else happens after it.
type act struct {
	Kind         string
	Daemon, Peer int
	Folder       int
	Why          stsim.Problem
	Wait         time.Duration
	Looks        bool   // somebody looks at the folders then
	Prints       string // how commands print then: table or json; "": none is run
}

func (a act) String() string {
	return fmt.Sprintf(
		"%s daemon %d peer %d folder %d %s, then %s, somebody looks: %t, commands print: %q",
		a.Kind,
		a.Daemon,
		a.Peer,
		a.Folder,
		a.Why,
		a.Wait,
		a.Looks,
		a.Prints,
	)
}

// story is a history under way.
type story struct {
	*watcher
	truth
	home    string
	folders []string
}

// acts are what may happen, by name. One that cannot happen now does nothing.
var acts = map[string]func(s *story, a act) error{
	"stops":              func(s *story, a act) error { return s.stopDaemon(a, s.farm.Daemon(a.Daemon).Stop) },
	"crashes":            func(s *story, a act) error { return s.stopDaemon(a, s.farm.Daemon(a.Daemon).Crash) },
	"starts":             (*story).startDaemon,
	"restarts":           (*story).restartDaemon,
	"stands still":       (*story).silence,
	"lies":               (*story).lie,
	"is healthy":         (*story).endFaults,
	"folder stops":       (*story).stopFolder,
	"items fail":         (*story).failItems,
	"folder heals":       (*story).healFolder,
	"folder pauses":      func(s *story, a act) error { return s.pauseFolder(a, true) },
	"folder goes on":     func(s *story, a act) error { return s.pauseFolder(a, false) },
	"lags":               (*story).lag,
	"is stuck":           func(s *story, a act) error { return s.transfer(a, 0) },
	"moves":              func(s *story, a act) error { return s.transfer(a, 1<<20) },
	"is edited":          (*story).editLocally,
	"is overruled":       (*story).overrule,
	"is in conflict":     (*story).conflict,
	"drive goes":         tellOf(func(_ *daemonTruth, disk *diskTruth) { disk.pathMissing = true }),
	"drive comes back":   tellOf(func(_ *daemonTruth, disk *diskTruth) { disk.pathMissing = false }),
	"marker goes":        tellOf(func(_ *daemonTruth, disk *diskTruth) { disk.markerMissing = true }),
	"marker comes back":  tellOf(func(_ *daemonTruth, disk *diskTruth) { disk.markerMissing = false }),
	"disk fills":         tellOf(func(_ *daemonTruth, disk *diskTruth) { disk.nearlyFull = true }),
	"disk is cleared":    tellOf(func(_ *daemonTruth, disk *diskTruth) { disk.nearlyFull = false }),
	"home fills":         tellOf(func(daemon *daemonTruth, _ *diskTruth) { daemon.homeFull = true }),
	"home is cleared":    tellOf(func(daemon *daemonTruth, _ *diskTruth) { daemon.homeFull = false }),
	"unshares":           func(s *story, a act) error { return s.unshare(a, true) },
	"shares again":       func(s *story, a act) error { return s.unshare(a, false) },
	"counts more":        (*story).countMore,
	"is cut off":         func(s *story, a act) error { return s.cutOff(a, true) },
	"is joined":          func(s *story, a act) error { return s.cutOff(a, false) },
	"pauses peer":        func(s *story, a act) error { return s.pausePeer(a, true) },
	"resumes peer":       func(s *story, a act) error { return s.pausePeer(a, false) },
	"unwatched":          func(s *story, a act) error { return s.watch(a, false) },
	"watched":            func(s *story, a act) error { return s.watch(a, true) },
	"Muster starts anew": (*story).restartMuster,
	"nothing":            func(*story, act) error { return nil },
}

func (s *story) stopDaemon(a act, stop func()) error {
	s.leave(a.Daemon)
	s.daemons[a.Daemon].stopped = true
	s.ended(a.Daemon)
	stop()
	return nil
}

// ended notes that transfers of a daemon ended with its process.
func (s *story) ended(i int) {
	for folder := range truthFolders {
		f := &s.daemons[i].folders[folder]
		f.moving = false
		f.conflicts.maybeRead = f.conflicts.maybeRead || f.conflicts.remembered
		f.conflicts.remembered = false
	}
}

func (s *story) startDaemon(a act) error {
	s.daemons[a.Daemon].stopped = false
	return s.farm.Daemon(a.Daemon).Start()
}

func (s *story) restartDaemon(a act) error {
	if s.daemons[a.Daemon].stopped {
		return nil
	}
	s.ended(a.Daemon)
	return simulated.Restart(s.farm.Daemon(a.Daemon))
}

func (s *story) silence(a act) error {
	s.leave(a.Daemon)
	s.daemons[a.Daemon].silent, s.daemons[a.Daemon].lying = true, false
	s.farm.Daemon(a.Daemon).SetFaults(stsim.Faults{Hang: true})
	return nil
}

// lie has a daemon start anew, with figures below zero.
func (s *story) lie(a act) error {
	d := &s.daemons[a.Daemon]
	if d.stopped || d.silent {
		return nil
	}
	s.leave(a.Daemon)
	d.lying = true
	s.farm.Daemon(a.Daemon).SetFaults(stsim.Faults{Negative: true, Paths: []string{"/rest/db/status"}})
	s.ended(a.Daemon)
	return simulated.Restart(s.farm.Daemon(a.Daemon))
}

func (s *story) endFaults(a act) error {
	s.daemons[a.Daemon].silent, s.daemons[a.Daemon].lying = false, false
	s.farm.Daemon(a.Daemon).SetFaults(stsim.Faults{})
	return nil
}

// troubled are the causes of folders in trouble, by state.
var troubled = map[fleet.FolderState]fleet.WaitCause{
	fleet.FolderStopped: fleet.WaitFolderStopped, fleet.FolderFailedItems: fleet.WaitFailedItems,
	fleet.FolderStalled: fleet.WaitStalled, fleet.FolderAlone: fleet.WaitAlone,
	fleet.FolderOutOfSync: fleet.WaitOutOfSync, fleet.FolderLocalChanges: fleet.WaitLocalChanges,
}

// causesOf are the causes for which a folder of a daemon may wait once its state has lasted. A blank one means that it
// does not wait; nil means that any is right.
func (t *truth) causesOf(i, folder int) (causes []fleet.WaitCause) {
	states := t.judged(i, folder, true)
	unknown := slices.Contains(states, fleet.FolderUnknown)
	if unknown {
		if t.daemons[i].lying {
			return nil
		}
		if states = t.lastStates(i, folder); states == nil {
			return nil
		}
	}
	for _, state := range states {
		cause := troubled[state]
		if unknown && state == fleet.FolderAlone {
			cause = ""
		}
		causes = append(causes, cause)
	}
	return causes
}
