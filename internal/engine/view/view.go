// Package view is the one way to look at the whole fleet: inventory, overview, states, folders, shares, what waits for
// a person and what differs. It keeps projections of what other rooms know, and brings them up to date by what
// changed. It decides nothing about a device or a folder: health does. DESIGN.md says how.
package view

import (
	"context"
	"crypto/rand"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"muster/internal/fleet"
)

// maxParts is the number of scopes whose rows are in memory.
const maxParts = 8

// Options are the sources of a View.
type Options struct {
	// Changed returns the devices that have changed since the last call, apart from their records in the registry.
	Changed  func() map[fleet.DeviceID]bool
	Snapshot func(fleet.DeviceID) *fleet.Snapshot // nil: the device is not watched
	State    func(context.Context, fleet.DeviceID) (fleet.State, error)
	Causes   func(fleet.State, *fleet.Snapshot) []fleet.WaitCause
	// FolderState returns the state of a folder on a device. disagrees reports whether the device is one of those that
	// disagree about the folder.
	FolderState func(s *fleet.Snapshot, folder string) (state fleet.FolderState, disagrees bool)
	// FolderTroubles returns the folders of a device at which a person should look.
	FolderTroubles func(fleet.DeviceID) []fleet.FolderTrouble
	// IsYoung reports whether something of a device becomes trouble if it lasts. It may be nil.
	IsYoung func(*fleet.Snapshot) bool
	// FindingUnclear reports whether a finding may hold although FolderTroubles does not return it. A blank folder
	// is the home of the daemon. It may be nil.
	FindingUnclear func(device fleet.DeviceID, folder string, cause fleet.WaitCause) bool
	// FolderStanding returns the state of a folder with its reason and numbers. The reason names only devices of the
	// context's scope.
	FolderStanding func(ctx context.Context, s *fleet.Snapshot, folder string) fleet.FolderStanding
	// PausedBy adds to paused folders who paused them. It reads the database, once for all.
	PausedBy func(ctx context.Context, paused []*fleet.FolderStanding)
	// FolderHolders returns at most `most` devices that are connected to the device of a snapshot and have what it lacks
	// of a folder.
	FolderHolders func(ctx context.Context, s *fleet.Snapshot, folder string, most int) []fleet.DeviceID
	// Common returns a comparable value on which the states of all devices depend in addition to the registry and marks.
	Common func() any
	Mode   fleet.Mode // mode with which the server was started; "": on
	Wire   Wire
	Shares Shares
	Files  Files
	// ViewFolders records that somebody views folders of a device, so that the mirror reads their numbers more often. It
	// may be nil.
	ViewFolders func(device fleet.DeviceID, folders ...string)
	// Within runs work that may need much memory, once there is enough. It may run the work more than once.
	Within func(ctx context.Context, work func(context.Context) error) error
}

// Wire encodes what many readers get.
type Wire interface {
	Row(*Row) ([]byte, error)
	// Inventory returns the encoded page without its rows. The rows are inserted before tail.
	Inventory(Page) (text []byte, tail string, err error)
	State(fleet.DeviceID, fleet.State, fleet.WorstFolder) ([]byte, error)
}

// View may be used by several goroutines at once.
type View struct {
	Options
	start     string // identifies this process, so that its revisions differ from those of other processes
	revisions atomic.Uint64
	shares    *table[deviceShares] // shares of the whole fleet
	turn      chan struct{}        // lock of the one reader that may read all configurations; taken before mu of shares

	mu    sync.Mutex // guards parts, and makes taking and distributing marks one step
	parts []*part    // ordered by last use, the newest last

	answering sync.Mutex // guards answers
	answers   map[string]*answers
}

// part has the rows of the devices in one scope. The texts of its rows name only devices of the scope.
type part struct {
	scope  fleet.Scope
	rows   *table[Row]
	totals *totals // totals of rows
	pages  answers // documents of inventories, made of rows
	// mu of rows guards what follows.
	joined      uint64 // the revision of rows for which a document was joined
	attention   Attention
	attentionOf uint64 // the revision of rows from which attention was made
}

// New makes a view without rows. It makes rows when a reader asks for them.
func New(o Options) *View {
	if o.Within == nil {
		o.Within = func(ctx context.Context, work func(context.Context) error) error { return work(ctx) }
	}
	v := &View{Options: o, start: rand.Text(), turn: make(chan struct{}, 1), answers: map[string]*answers{}}
	v.shares = newTable(tableOptions[deviceShares]{Make: v.readShares, Stale: v.sharesStale, AtOnce: readsAtOnce,
		Revisions: v.newRevision})
	return v
}

func (v *View) newRevision() uint64 { return v.revisions.Add(1) }

// partOf returns the part of the caller's scope. It first marks the devices that have changed in all parts. When there
// are too many parts, it removes the one that was not used for the longest time.
func (v *View) partOf(ctx context.Context) *part {
	scope := fleet.ScopeIn(ctx)
	v.mu.Lock()
	defer v.mu.Unlock()
	if changed := v.Changed(); len(changed) > 0 {
		for _, p := range v.parts {
			p.rows.mark(changed)
		}
	}
	if at := slices.IndexFunc(v.parts, func(p *part) bool { return p.scope == scope }); at >= 0 {
		p := v.parts[at]
		v.parts = append(slices.Delete(v.parts, at, at+1), p)
		return p
	}
	if len(v.parts) == maxParts {
		v.parts = slices.Delete(v.parts, 0, 1)
	}
	p := &part{scope: scope, totals: newTotals(v.newRevision)}
	p.rows = newTable(tableOptions[Row]{Make: v.makeRow, Common: v.Common, Revisions: v.newRevision,
		Replaced: p.replaced})
	v.parts = append(v.parts, p)
	return p
}

// replaced updates what depends on the rows. It removes the cached pages at once, which frees their memory even when
// no reader asks again.
func (p *part) replaced(before, now *Row) {
	p.totals.replace(before, now)
	p.pages.clear()
}

// reading updates the rows of a part, and calls read while they are locked. registry is the one of the part's scope.
func (p *part) reading(ctx context.Context, registry *fleet.Registry, read func() error) error {
	p.rows.mu.Lock()
	defer p.rows.mu.Unlock()
	if err := p.rows.refresh(ctx, registry); err != nil {
		return err
	}
	return read()
}

// Rows returns the rows of the caller's scope, ordered by label, then ID. After an error it also returns the last
// ones.
func (v *View) Rows(ctx context.Context, registry *fleet.Registry) ([]*Row, error) {
	p := v.partOf(ctx)
	p.rows.mu.Lock()
	defer p.rows.mu.Unlock()
	err := p.rows.refresh(ctx, registry)
	return p.rows.inOrder(), err
}

// Row returns the row of one device, nil when the device is not in the caller's scope. It does not update the rows of
// other devices.
func (v *View) Row(ctx context.Context, registry *fleet.Registry, id fleet.DeviceID) (*Row, error) {
	p := v.partOf(ctx)
	p.rows.mu.Lock()
	defer p.rows.mu.Unlock()
	err := p.rows.refreshOne(ctx, registry, id)
	return p.rows.rows[id], err
}

// Counts returns the numbers of the caller's scope. After an error, or with a nil registry, it returns the last ones.
func (v *View) Counts(ctx context.Context, registry *fleet.Registry) (counts fleet.Counts, err error) {
	p := v.partOf(ctx)
	p.rows.mu.Lock()
	defer p.rows.mu.Unlock()
	if registry != nil {
		err = p.rows.refresh(ctx, registry)
	}
	return p.totals.counts(), err
}

// HistoryPoint returns the numbers of the caller's scope for the history, without At and Problems. Devices counts all
// registered devices.
func (v *View) HistoryPoint(ctx context.Context, registry *fleet.Registry) (point fleet.HistoryPoint, err error) {
	counts, err := v.Counts(ctx, registry)
	if err != nil {
		return point, err
	}
	point.Folders, point.UpToDate = int64(counts.Folders.All()), int64(counts.Folders.Of(fleet.FolderUpToDate))
	rows, err := v.Rows(ctx, registry)
	point.Devices = int64(len(rows))
	for _, row := range rows {
		if row.unwatched {
			continue
		}
		if row.State.Connection == fleet.Online {
			point.Online++
		}
		if row.State.Configuration == fleet.ConfigInSync {
			point.InSync++
		}
		if len(row.Waits) > 0 {
			point.Waiting++
		}
		if row.inTrouble() {
			point.Troubled++
		}
		point.NeedBytes = fleet.AddBytes(point.NeedBytes, row.NeedBytes)
	}
	return point, err
}

// FolderFigures returns the numbers of the folders in the caller's scope for the history, by folder ID.
func (v *View) FolderFigures(ctx context.Context, registry *fleet.Registry) (map[string]fleet.FolderFigures, error) {
	rows, err := v.Rows(ctx, registry)
	all := map[string]fleet.FolderFigures{}
	for _, row := range rows {
		snapshot := v.Snapshot(row.Device.ID)
		if snapshot == nil || row.unwatched {
			continue
		}
		for _, f := range row.folders {
			figures := all[f.Folder]
			figures.Add(f.state, snapshot.Summaries[f.Folder])
			all[f.Folder] = figures
		}
	}
	return all, err
}

// Folders returns the folders of the caller's scope, sorted by ID. Each has the label that most devices use. Callers
// must not change the slice.
func (v *View) Folders(ctx context.Context, registry *fleet.Registry,
) (folders []fleet.FolderLabel, source Source, err error) {
	p := v.partOf(ctx)
	err = p.reading(ctx, registry, func() error {
		var revision uint64
		folders, revision = p.totals.list()
		source = Source{"folders", revision}
		return nil
	})
	return folders, source, err
}

// revisionOf identifies the present rows of a part. Different scopes never have equal revisions. The caller holds mu
// of the rows.
func (v *View) revisionOf(p *part) string {
	names := []string{v.start, strconv.FormatUint(p.rows.revision, 10)}
	for _, tag := range p.scope.Tags() {
		names = append(names, string(tag))
	}
	return strings.Join(names, "\x00")
}
