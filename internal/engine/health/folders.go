package health

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"muster/internal/fleet"
)

// Folders knows the state of each folder on each device, and since when. Update gives it new snapshots, from which it
// computes the states of their devices and of the devices that depend on them. It may be used by several goroutines at
// once.
type Folders struct {
	mu       sync.Mutex // guards what follows
	windows  Windows
	off      map[fleet.WaitCause]bool // kinds of trouble that nobody is notified of
	copies   Copies
	rejudge  bool // The next Update computes the states of all devices.
	registry *fleet.Registry
	devices  map[fleet.DeviceID]*folderBook
	groups   comparison
	sharers  sharerIndex
	due      time.Time               // next time at which a state changes without an event; zero: never
	changed  map[fleet.DeviceID]bool // devices whose numbers have changed since the last call of Changed
}

// folderBook has the records of the folders of one device.
type folderBook struct {
	seen    *fleet.Snapshot // the snapshot from which the states were computed
	folders []folderRecord  // sorted by folder ID
	due     time.Time       // next time at which a folder or the connection changes without an event; zero: never
	home    *finding        // A device without folders has one when the disk of its daemon's home is nearly full.
}

// folderRecord is what Folders remembers of one folder on one device.
type folderRecord struct {
	folder  string
	since   int64       // Unix milliseconds: when the state began
	group   *shareGroup // nil when it is not known yet
	details *recordDetails
	state   fleet.FolderState
	last    fleet.FolderState // last known state while state is FolderUnknown; FolderUnknown when there is none
	shown   fleet.FolderState // The state that was shown while last was the state.
	hasAll  bool              // see HasAll; false where the drive is missing
	began   bool              // the folder had a different known state before since
	trouble bool
}

// recordDetails are what only folders have of which something is missing, or wrong. They are immutable.
type recordDetails struct {
	motion  *motion // nil where nothing is missing
	besides []finding
}

func (r *folderRecord) motion() *motion {
	if r.details == nil {
		return nil
	}
	return r.details.motion
}

func (r *folderRecord) besides() []finding {
	if r.details == nil {
		return nil
	}
	return r.details.besides
}

// setDetails keeps a record without details small: nearly all have none.
func (r *folderRecord) setDetails(m *motion, besides []finding) {
	switch {
	case m == nil && len(besides) == 0:
		r.details = nil
	case r.motion() != m || !slices.Equal(r.besides(), besides):
		r.details = &recordDetails{m, besides}
	}
}

// NewFolders makes a Folders that knows no device. A window of 0 means its default. Nobody is notified of the kinds of
// trouble in off.
func NewFolders(windows Windows, off ...fleet.WaitCause) *Folders {
	f := &Folders{devices: map[fleet.DeviceID]*folderBook{}, groups: newComparison(), sharers: newSharerIndex(),
		changed: map[fleet.DeviceID]bool{}}
	f.SetPolicy(windows, off...)
	return f
}

// SetPolicy replaces what NewFolders was given. The next Update computes the states of all devices by it.
func (f *Folders) SetPolicy(windows Windows, off ...fleet.WaitCause) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.windows = Windows{Quiet: windows.Quiet, Stale: windows.Stale,
		Trouble:  cmp.Or(windows.Trouble, DefaultWindows.Trouble),
		Stalled:  cmp.Or(windows.Stalled, DefaultWindows.Stalled),
		Disagree: cmp.Or(windows.Disagree, DefaultWindows.Disagree)}
	f.off, f.rejudge = map[fleet.WaitCause]bool{}, true
	for _, cause := range off {
		f.off[cause] = true
	}
	for _, book := range f.devices {
		for _, record := range book.folders {
			if record.group != nil {
				f.groups.touched[record.group] = true
			}
		}
	}
}

// Copies is what policies of copies miss; see prover.Prover.
type Copies interface {
	Shortage(device fleet.DeviceID, folder string) (fleet.CopyShortage, bool)
	MayBeShort(device fleet.DeviceID, folder string) bool
}

// SetCopies has findings for what policies of copies miss.
func (f *Folders) SetCopies(copies Copies) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.copies = copies
}

// isShort reports whether a policy misses copies of a device's data. The caller holds mu.
func (f *Folders) isShort(device fleet.DeviceID, folder string) (short fleet.CopyShortage, is bool) {
	if f.copies == nil {
		return short, false
	}
	return f.copies.Shortage(device, folder)
}

// Update computes the states of the devices with new snapshots, of the devices that depend on them, and of the devices
// whose state changes by time alone. A nil snapshot means that the device is no longer watched. A nil registry means
// that it cannot be read; then the last one is used.
func (f *Folders) Update(seen map[fleet.DeviceID]*fleet.Snapshot, registry *fleet.Registry, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	stale := make(map[fleet.DeviceID]bool, len(seen))
	f.setRegistry(registry, stale)
	if f.rejudge {
		f.rejudge = false
		for id := range f.devices {
			stale[id] = true
		}
	}
	met := map[fleet.DeviceID]bool{}
	for id, s := range seen {
		if f.look(id, s, now, stale) {
			met[id] = true
		}
		stale[id] = true
	}
	for id := range met {
		f.sharers.addSharingWith(id, stale)
	}
	f.compare(now, stale)
	if !f.due.IsZero() && !now.Before(f.due) {
		for id, book := range f.devices {
			if !book.due.IsZero() && !now.Before(book.due) {
				stale[id], f.changed[id] = true, true
			}
		}
	}
	if len(stale) == 0 {
		return
	}
	for id := range stale {
		if f.judge(id, now) {
			f.changed[id] = true
		}
	}
	f.setDue(now)
}

// setRegistry replaces the registry. When it allows devices to be away for a different time, all devices are computed
// again.
func (f *Folders) setRegistry(registry *fleet.Registry, stale map[fleet.DeviceID]bool) {
	before := f.registry
	if registry == nil || registry == before {
		return
	}
	f.registry = registry
	for id := range f.devices {
		if before != nil && (before.QuietAfter(id) != registry.QuietAfter(id) ||
			f.staleAfter(before, id) != f.staleAfter(registry, id)) {
			for id := range f.devices {
				stale[id] = true
			}
			return
		}
	}
}

// snapshot returns the newest snapshot of a device, nil when the device is not watched.
func (f *Folders) snapshot(id fleet.DeviceID) *fleet.Snapshot {
	if book := f.devices[id]; book != nil {
		return book.seen
	}
	return nil
}

// Changed returns the devices whose folders or connection have changed their state or trouble since the last call.
func (f *Folders) Changed() (changed map[fleet.DeviceID]bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.changed) == 0 {
		return nil
	}
	changed = f.changed
	f.changed = map[fleet.DeviceID]bool{}
	return changed
}

// setDue computes the next time at which a state changes by time alone, at most once a second.
func (f *Folders) setDue(now time.Time) {
	f.due = time.Time{}
	for _, book := range f.devices {
		if !book.due.IsZero() && (f.due.IsZero() || book.due.Before(f.due)) {
			f.due = book.due
		}
	}
	if soon := now.Add(time.Second); !f.due.IsZero() && f.due.Before(soon) {
		f.due = soon
	}
}

// look takes the newest snapshot of a device, and adds the devices whose folders depend on what changed of it. It tells
// whether it is known only now what the device shares, or not known any more.
func (f *Folders) look(id fleet.DeviceID, s *fleet.Snapshot, now time.Time, dependent map[fleet.DeviceID]bool,
) (met bool) {
	book := f.devices[id]
	if s == nil {
		if book != nil {
			f.leaveGroups(book, book.folders, now)
			f.sharers.replace(book, book.seen.Shares, nil)
		}
		delete(f.devices, id)
		return book != nil
	}
	if book == nil {
		book = &folderBook{seen: &fleet.Snapshot{Device: id}}
		f.devices[id] = book
	}
	before := book.seen
	f.setRecords(book, s, now)
	f.sharers.replace(book, before.Shares, s.Shares)
	for i := range book.folders {
		record := &book.folders[i]
		record.move(s, now)
		was, hadBefore := before.Share(record.folder)
		is, has := s.Share(record.folder)
		if record.group != nil {
			f.recount(record.group, before, s, now)
		}
		if was.With != is.With || hadBefore != has {
			f.regroupLater(record.folder, now)
		}
		hasAll := HasAll(s, record.folder) && !s.Disks.Folder(record.folder).DriveMissing()
		switch {
		case was != is || hadBefore != has:
			f.addSharers(before, record.folder, dependent, anyState)
			f.addSharers(s, record.folder, dependent, anyState)
		case hasAll != record.hasAll || before.Connection != s.Connection || before.FoundBy != s.FoundBy:
			f.addSharers(s, record.folder, dependent, dependsOnSharers)
		}
		record.hasAll = hasAll
	}
	for _, share := range before.Shares {
		if _, still := s.Share(share.Folder); !still {
			f.addSharers(before, share.Folder, dependent, anyState)
		}
	}
	return (before.Shares == nil) != (s.Shares == nil)
}

// setRecords updates the records of a book to the folders of a newer snapshot.
func (f *Folders) setRecords(book *folderBook, s *fleet.Snapshot, now time.Time) {
	before := book.folders
	records := recordsOf(s, before)
	if !sameRecords(before, records) {
		old, new := folderBook{folders: before}, folderBook{folders: records}
		var gone []folderRecord
		for _, record := range before {
			if new.record(record.folder) == nil {
				gone = append(gone, record)
			}
		}
		f.leaveGroups(book, gone, now)
		for _, record := range records {
			if old.record(record.folder) == nil {
				f.add(book, record.folder, now)
			}
		}
	}
	book.seen, book.folders = s, records
}

// sameRecords reports whether two lists are the same slice.
func sameRecords(a, b []folderRecord) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// leaveGroups removes a device from the groups of folders that it no longer has.
func (f *Folders) leaveGroups(book *folderBook, folders []folderRecord, now time.Time) {
	for _, record := range folders {
		if record.group != nil {
			record.group.count(book.seen, -1)
			f.groups.touched[record.group] = true
		}
		f.remove(book, record.folder, now)
	}
}

func anyState(fleet.FolderState) bool { return true }

// dependsOnSharers reports whether a folder's state may change when a sharer connects, disconnects or gets all of the
// folder.
func dependsOnSharers(state fleet.FolderState) bool {
	switch state {
	case fleet.FolderAlone, fleet.FolderStalled, fleet.FolderBehind, fleet.FolderSyncing:
		return true
	case fleet.FolderUpToDate, fleet.FolderScanning, fleet.FolderUnshared, fleet.FolderPaused, fleet.FolderUnknown,
		fleet.FolderLocalChanges, fleet.FolderOutOfSync, fleet.FolderFailedItems, fleet.FolderStopped,
		fleet.FolderConflicts, fleet.FolderDisagree, fleet.FolderDiskNearlyFull, fleet.FolderDriveMissing:
	}
	return false
}

// addSharers adds the devices that a snapshot shares a folder with, where the folder is in a state that counts there.
func (f *Folders) addSharers(s *fleet.Snapshot, folder string, to map[fleet.DeviceID]bool,
	counts func(fleet.FolderState) bool) {
	for peer := range s.Sharers(folder) {
		if book := f.devices[peer]; book != nil && !to[peer] {
			if record := book.record(folder); record != nil && counts(record.state) {
				to[book.seen.Device] = true
			}
		}
	}
}

func (b *folderBook) record(folder string) *folderRecord {
	at, found := slices.BinarySearchFunc(b.folders, folder, func(r folderRecord, folder string) int {
		return cmp.Compare(r.folder, folder)
	})
	if !found {
		return nil
	}
	return &b.folders[at]
}

// recordsOf returns the records for the folders of a snapshot. It reuses records that exist already.
func recordsOf(s *fleet.Snapshot, before []folderRecord) []folderRecord {
	same := len(before) == len(s.Folders)
	for i := 0; same && i < len(before); i++ {
		same = before[i].folder == s.Folders[i].Folder
	}
	if same {
		return before
	}
	old := folderBook{folders: before}
	records := make([]folderRecord, len(s.Folders))
	for i, folder := range s.Folders {
		records[i] = folderRecord{folder: folder.Folder, state: fleet.FolderUnknown, last: fleet.FolderUnknown}
		if known := old.record(folder.Folder); known != nil {
			records[i] = *known
		}
	}
	slices.SortFunc(records, func(a, b folderRecord) int { return cmp.Compare(a.folder, b.folder) })
	return slices.CompactFunc(records, func(a, b folderRecord) bool { return a.folder == b.folder })
}

// facts returns the input from which the state of a folder is computed. The caller holds mu.
func (f *Folders) facts(s *fleet.Snapshot, record *folderRecord, now time.Time) FolderFacts {
	facts := FolderFacts{Snapshot: s, Folder: record.folder, Peer: f.snapshot, Windows: f.windows, Now: now}
	if record.motion() != nil {
		facts.Moved = record.motion().at
		facts.Rate, _ = record.motion().rate(now)
	}
	return facts
}

// judge computes the states of all folders of a device. The caller holds mu.
func (f *Folders) judge(id fleet.DeviceID, now time.Time) (changed bool) {
	book := f.devices[id]
	if book == nil {
		return true
	}
	book.due = f.connectionDue(book.seen, now)
	changed = f.judgeHome(book, now)
	for i := range book.folders {
		record := &book.folders[i]
		before := *record
		facts := f.facts(book.seen, record, now)
		record.become(FolderState(facts), facts)
		record.trouble = f.isTrouble(facts, record)
		record.setDetails(record.motion(), f.findings(facts, record))
		book.dueAt(f.folderDue(facts, record))
		changed = changed || before.state != record.state || before.trouble != record.trouble ||
			before.last != record.last || !slices.Equal(before.besides(), record.besides())
	}
	return changed
}

// dueAt notes that something is another by time alone at a time; zero: never.
func (b *folderBook) dueAt(at time.Time) {
	if !at.IsZero() && (b.due.IsZero() || at.Before(b.due)) {
		b.due = at
	}
}

// become sets the state of a folder, and when the state began.
func (r *folderRecord) become(state fleet.FolderState, f FolderFacts) {
	if state == r.state && r.since != 0 {
		return
	}
	if state == fleet.FolderUnknown {
		r.last = r.state
		r.shown, _ = shownState(r.state, r.besides())
		if last, known := lastState(f); r.since == 0 && known {
			r.last, r.shown = last, last
			r.since = f.summary().UpdatedAt.UnixMilli()
		}
		r.state = state // The time in since stays: the last known state began then.
		if r.since == 0 {
			r.since = f.Now.UnixMilli()
		}
		return
	}
	if r.state != fleet.FolderUnknown || r.last != state || r.since == 0 {
		r.since = f.Now.UnixMilli()
		r.began = r.state != fleet.FolderUnknown || r.last != fleet.FolderUnknown
	}
	if began := f.beganBefore(state); r.state == fleet.FolderUnknown && !began.IsZero() {
		r.since = min(r.since, began.UnixMilli())
	}
	r.state, r.last = state, fleet.FolderUnknown
}

// State returns the state of a folder on a device. disagrees tells whether the device is one of those that disagree
// about the folder, whatever the state.
func (f *Folders) State(id fleet.DeviceID, folder string) (state fleet.FolderState, disagrees bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	record := f.record(id, folder)
	if record == nil {
		return fleet.FolderUnknown, false
	}
	state, _ = shownState(record.state, record.besides())
	return state, slices.ContainsFunc(record.besides(), func(is finding) bool { return is.cause == fleet.WaitDisagree })
}

// record returns the record of a folder on a device, nil when the device does not have the folder. The caller holds
// mu.
func (f *Folders) record(id fleet.DeviceID, folder string) *folderRecord {
	if book := f.devices[id]; book != nil {
		return book.record(folder)
	}
	return nil
}

// Standing returns the present state of a folder on a device, with numbers and texts.
func (f *Folders) Standing(s *fleet.Snapshot, folder string, now time.Time) fleet.FolderStanding {
	f.mu.Lock()
	defer f.mu.Unlock()
	record := f.record(s.Device, folder)
	if record == nil && folder == "" {
		return f.homeStanding(s)
	}
	if record == nil {
		record = &folderRecord{folder: folder}
	}
	standing := FolderStanding(f.facts(s, record, now))
	standing.Trouble = record.trouble
	for _, one := range record.besides() {
		standing.Besides = append(standing.Besides, f.findingOf(s, record, one))
	}
	if standing.State != fleet.FolderUnknown && standing.State == record.state {
		standing.Since, standing.Witnessed = time.UnixMilli(record.since), record.began
		standing.Progress.DoneFrom, standing.Progress.DoneTo = record.motion().doneBetween(now)
	}
	if standing.State == fleet.FolderUnknown && record.state == fleet.FolderUnknown && record.last != fleet.FolderUnknown {
		last := record.shown
		standing.Last = &last
	}
	if state, byFinding := shownState(standing.State, record.besides()); byFinding {
		worst := standing.Besides[0]
		standing.State, standing.Trouble, standing.Since = state, worst.Trouble, worst.Since
		standing.Reason, standing.Next, standing.Besides = worst.Reason, worst.Next, standing.Besides[1:]
	}
	return standing
}
