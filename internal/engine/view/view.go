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

// maxParts is of how many parts of the fleet the rows are kept.
const maxParts = 8

// Options say where a View reads.
type Options struct {
	// Changed gives the devices of which something changed, besides their records in the registry, since the last call.
	Changed  func() map[fleet.DeviceID]bool
	Snapshot func(fleet.DeviceID) *fleet.Snapshot // nil: the device is not watched
	State    func(context.Context, fleet.DeviceID) (fleet.State, error)
	Causes   func(fleet.State, *fleet.Snapshot) []fleet.WaitCause
	// FolderState is the state of a folder on a device, and whether the device is one of those that disagree about it.
	FolderState func(s *fleet.Snapshot, folder string) (state fleet.FolderState, disagrees bool)
	// FolderTroubles are the folders of a device that a person should look at.
	FolderTroubles func(fleet.DeviceID) []fleet.FolderTrouble
	// FolderStanding is FolderState with its reason and figures. The reason names devices of the context's scope only.
	FolderStanding func(ctx context.Context, s *fleet.Snapshot, folder string) fleet.FolderStanding
	// PausedBy adds to the standing of a paused folder by whom it is paused. It reads the database.
	PausedBy func(ctx context.Context, s *fleet.Snapshot, standing fleet.FolderStanding) fleet.FolderStanding
	// FolderHolders are at most so many devices, connected to the one of a snapshot, that have what it lacks of a folder.
	FolderHolders func(ctx context.Context, s *fleet.Snapshot, folder string, most int) []fleet.DeviceID
	// Common gives what the states of all devices depend on besides registry and marks. It is comparable.
	Common func() any
	Mode   fleet.Mode // that the server was started with; "": on
	Wire   Wire
	Shares Shares
	Files  Files
	// Look says that somebody looks at folders of a device, so that their figures are young; nil: they are as they are.
	Look func(device fleet.DeviceID, folders ...string)
	// Within does work that may take much memory, once there is memory for it. It may do the work more than once.
	Within func(ctx context.Context, work func(context.Context) error) error
}

// Wire writes down what readers get again and again, as they get it.
type Wire interface {
	Row(*Row) ([]byte, error)
	// Inventory is written without rows; they come before its tail.
	Inventory(Page) (text []byte, tail string, err error)
	State(fleet.DeviceID, fleet.State, fleet.WorstFolder) ([]byte, error)
}

// View may be used by several goroutines at once.
type View struct {
	Options
	start     string // of this process: no revision of another process is like one of this
	revisions atomic.Uint64
	shares    *table[deviceShares] // of the whole fleet
	turn      chan struct{}        // of the one reader of shares, who may read all configurations; taken before their mu

	mu    sync.Mutex // guards parts, and makes one step of taking marks and handing them on
	parts []*part    // the one that was asked for last is the last one

	answering sync.Mutex // guards answers
	answers   map[string]*answers
}

// part is the rows of the devices in one scope. Texts of its rows name the devices of the scope only.
type part struct {
	scope  fleet.Scope
	rows   *table[Row]
	totals *totals // of rows
	pages  answers // documents of inventories, made of rows
	// mu of rows guards what follows.
	joined      uint64 // the revision of rows of which one document is in one text
	attention   Attention
	attentionOf uint64 // the revision of rows of which attention is
}

// New makes a view without rows. They are made when somebody asks.
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

// partOf gives the part of the caller's scope. What changed until now is marked in all parts. The part that was asked
// for longest ago goes when there are too many.
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

// replaced keeps what is made of the rows. Pages go as soon as a row is replaced: nobody may ask for the next ones.
func (p *part) replaced(before, now *Row) {
	p.totals.replace(before, now)
	p.pages.clear()
}

// reading brings the rows of a part up to date, and calls read while they are locked. registry is the one of the part's
// scope.
func (p *part) reading(ctx context.Context, registry *fleet.Registry, read func() error) error {
	p.rows.mu.Lock()
	defer p.rows.mu.Unlock()
	if err := p.rows.refresh(ctx, registry); err != nil {
		return err
	}
	return read()
}

// Rows are those of the caller's scope, by label, then ID. With an error they are the last ones.
func (v *View) Rows(ctx context.Context, registry *fleet.Registry) ([]*Row, error) {
	p := v.partOf(ctx)
	p.rows.mu.Lock()
	defer p.rows.mu.Unlock()
	err := p.rows.refresh(ctx, registry)
	return p.rows.inOrder(), err
}

// Row is that of one device; nil for one that is not in the caller's scope. Rows of other devices that changed are made
// when they are asked for.
func (v *View) Row(ctx context.Context, registry *fleet.Registry, id fleet.DeviceID) (*Row, error) {
	p := v.partOf(ctx)
	p.rows.mu.Lock()
	defer p.rows.mu.Unlock()
	err := p.rows.refreshOne(ctx, registry, id)
	return p.rows.rows[id], err
}

// Counts are the caller's scope in numbers. With an error they are the last ones, as they are without a registry.
func (v *View) Counts(ctx context.Context, registry *fleet.Registry) (counts fleet.Counts, err error) {
	p := v.partOf(ctx)
	p.rows.mu.Lock()
	defer p.rows.mu.Unlock()
	if registry != nil {
		err = p.rows.refresh(ctx, registry)
	}
	return p.totals.counts(), err
}

// HistoryPoint are the caller's scope in numbers as the history has them, without At and Problems. Devices are all that
// are registered.
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

// FolderFigures are the folders of the caller's scope in numbers, by ID, as the history has them.
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

// Folders has one entry for each folder of the caller's scope, sorted by ID. The label is the one that most devices
// use. Callers do not change the slice.
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

// revisionOf names the rows of a part as they are now. Two scopes that a caller goes through have different ones. The
// caller holds mu of the rows.
func (v *View) revisionOf(p *part) string {
	names := []string{v.start, strconv.FormatUint(p.rows.revision, 10)}
	for _, tag := range p.scope.Tags() {
		names = append(names, string(tag))
	}
	return strings.Join(names, "\x00")
}
