package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
)

// Query says which rows a reader asks for, and in which order. A row matches a filter when it has one of the filter's
// values. For tags, it must have all of them.
type Query struct {
	IDs            []fleet.DeviceID // selects these devices; empty: all
	Search         string           // lower case
	Tags           []fleet.Tag
	Connections    []fleet.Connection
	Configurations []fleet.Configuration
	Versions       []string // versions or their beginnings; <, <=, > or >= may come before: "<2"
	Systems        []string
	FolderStates   []fleet.FolderState // selects devices with a folder in one of these states
	SeenBefore     time.Time           // selects devices that are not online and were last seen before; zero: all
	DiskBelow      int                 // selects devices with a disk that has less free space, in percent; 0: all
	Waiting        []fleet.WaitCause   // may contain WaitsAny, WaitsNone, WaitsTrouble and WaitsYoung
	Outdated       bool                // selects devices with a version older than the newest in the caller's scope
	Sort           string              // name of an order, from Sorts; "": by label
	Descending     bool
	Limit, Offset  int // Limit 0: no limit

	outdated map[string]bool // versions that Outdated selects; see among
}

// Values of Query.Waiting besides the causes.
const (
	WaitsAny     fleet.WaitCause = "any"
	WaitsNone    fleet.WaitCause = "none"
	WaitsTrouble fleet.WaitCause = "trouble" // any of fleet.TroubleCauses
	WaitsYoung   fleet.WaitCause = "young"   // something that becomes trouble if it lasts
)

// WaitsBesides are the values of Query.Waiting besides the causes.
var WaitsBesides = []fleet.WaitCause{WaitsAny, WaitsNone, WaitsTrouble, WaitsYoung}

// Page has the rows that a query selects, and counts of rows.
type Page struct {
	Total, Matched int
	Counts         FilterCounts
	Outdated       fleet.Outdated // versions among the devices of the caller's scope
	rows           []*Row
	next           int // offset of the next page; 0: this is the last one
}

// FilterCounts says for each value of each filter how many rows the query would select if that filter had only this
// value.
type FilterCounts struct {
	Connections, Configurations, FolderStates, Versions, OS, Tags, Waiting map[string]int

	Outdated int // number of rows with an outdated version
}

// Inventory returns the rows of the caller's scope that a query selects, as they are now. When no row has changed
// since the last call, it returns the document that was made then.
func (v *View) Inventory(ctx context.Context, registry *fleet.Registry, q Query) (document *Document, err error) {
	p := v.partOf(ctx)
	err = p.reading(ctx, registry, func() error {
		document, err = v.document(p, q)
		return err
	})
	return document, err
}

// document returns the document for a query from a part. The caller holds mu of the rows.
func (v *View) document(p *part, q Query) (*Document, error) {
	key := fmt.Sprintf("%#v", q)
	if known, found := p.pages.get(p.rows.revision, key); found {
		return p.again(key, known.(*Document)), nil //nolint:forcetypeassert // pages holds nothing else
	}
	made, err := v.write(q.page(p.rows.inOrder()))
	if err != nil {
		return nil, err
	}
	made.Revision = v.revisionOf(p)
	if !q.SeenBefore.IsZero() { // The answer changes with time, so it is not cached.
		made.Revision += "\x00" + q.SeenBefore.String()
	}
	p.pages.put(p.rows.revision, key, made, made.overhead())
	return made, nil
}

// page selects, counts and orders rows, which come in the order of the device list.
func (q Query) page(rows []*Row) Page {
	page := Page{Total: len(rows), Counts: newFilterCounts(), rows: make([]*Row, 0, len(rows))}
	q, page.Outdated = q.among(rows)
	for _, row := range rows {
		if !q.finds(row) {
			continue
		}
		misses := q.misses(row)
		if misses == 0 {
			page.rows = append(page.rows, row)
		}
		page.Counts.add(row, misses)
		if misses&^byOutdated == 0 && q.outdated[row.Version] {
			page.Counts.Outdated++
		}
	}
	page.Matched = len(page.rows)
	q.order(page.rows)
	page.rows = page.rows[min(q.Offset, len(page.rows)):]
	if q.Limit > 0 && len(page.rows) > q.Limit {
		page.rows, page.next = page.rows[:q.Limit], q.Offset+q.Limit
	}
	return page
}

// among returns the query with the versions that are outdated among all rows of the caller's scope.
func (q Query) among(rows []*Row) (Query, fleet.Outdated) {
	outdated := outdatedAmong(rows)
	q.outdated = make(map[string]bool, len(outdated.Versions))
	for _, version := range outdated.Versions {
		q.outdated[version] = true
	}
	return q, outdated
}

// sorting is an order of rows. Rows with an unknown value come last in either direction.
type sorting struct {
	name    string
	compare func(a, b *Row) int
	unknown func(*Row) bool // nil: every row has a value
}

var sortings = []sorting{
	{"label", func(a, b *Row) int { return fleet.CompareDevices(a.Device.Device, b.Device.Device) }, nil},
	{"connection", func(a, b *Row) int {
		return cmp.Compare(slices.Index(fleet.Connections(), a.State.Connection),
			slices.Index(fleet.Connections(), b.State.Connection))
	}, nil},
	{"configuration", func(a, b *Row) int {
		return cmp.Compare(slices.Index(fleet.Configurations(), a.State.Configuration),
			slices.Index(fleet.Configurations(), b.State.Configuration))
	}, nil},
	{"since", func(a, b *Row) int { return a.State.Since.Compare(b.State.Since) },
		func(r *Row) bool { return r.State.Since.IsZero() }},
	{"lastSeen", func(a, b *Row) int { return a.State.LastSeen.Compare(b.State.LastSeen) },
		func(r *Row) bool { return r.State.LastSeen.IsZero() }},
	{"version", func(a, b *Row) int { return fleet.CompareVersions(a.Version, b.Version) },
		func(r *Row) bool { return r.Version == "" }},
	{"os", func(a, b *Row) int { return cmp.Or(cmp.Compare(a.OS, b.OS), cmp.Compare(a.Arch, b.Arch)) },
		func(r *Row) bool { return r.OS == "" }},
	{"foundBy", func(a, b *Row) int { return cmp.Compare(a.State.FoundBy, b.State.FoundBy) },
		func(r *Row) bool { return r.State.FoundBy == "" }},
	{"folders", func(a, b *Row) int { return cmp.Compare(a.Folders.All(), b.Folders.All()) }, nil},
	{"folderState", compareFolders, func(r *Row) bool { return r.Folders.All() == 0 }},
	{"diskFree", func(a, b *Row) int { return cmp.Compare(a.DiskFree, b.DiskFree) },
		func(r *Row) bool { return r.DiskFree < 0 }},
	{"needBytes", func(a, b *Row) int { return cmp.Compare(a.NeedBytes, b.NeedBytes) }, nil},
}

// Sorts returns the values of Query.Sort.
func Sorts() []string {
	names := make([]string, len(sortings))
	for i, by := range sortings {
		names[i] = by.name
	}
	return names
}

func (q Query) order(rows []*Row) {
	at := slices.IndexFunc(sortings, func(by sorting) bool { return by.name == q.Sort })
	if at < 0 {
		return
	}
	by := sortings[at]
	slices.SortStableFunc(rows, func(a, b *Row) int {
		if by.unknown != nil {
			switch unknown := by.unknown(a); {
			case unknown != by.unknown(b):
				if unknown {
					return 1
				}
				return -1
			case unknown:
				return 0
			}
		}
		if q.Descending {
			return by.compare(b, a)
		}
		return by.compare(a, b)
	})
}

// compareFolders compares the worst state of the folders, then how many folders are in it.
func compareFolders(a, b *Row) int {
	worst, other := a.Folders.Worst(), b.Folders.Worst()
	return cmp.Or(cmp.Compare(worst, other), cmp.Compare(a.Folders.Of(worst), b.Folders.Of(worst)))
}

// finds reports whether a row matches the search.
func (q Query) finds(row *Row) bool {
	return q.Search == "" || strings.Contains(row.search, q.Search)
}

// Picks reports whether a row matches the search and all filters. The query comes from among.
func (q Query) Picks(row *Row) bool { return q.finds(row) && q.misses(row) == 0 }

// filters is a set of filters.
type filters uint16

const (
	byConnection filters = 1 << iota
	byConfiguration
	byFolderState
	byVersion
	byOS
	byTag
	byWaiting
	byOutdated
	byOther // filters without counts
)

// misses returns the filters that a row does not match. The search is not a filter.
func (q Query) misses(row *Row) (missed filters) {
	unless := func(picks bool, filter filters) {
		if !picks {
			missed |= filter
		}
	}
	unless(among(q.Connections, row.State.Connection), byConnection)
	unless(among(q.Configurations, row.State.Configuration), byConfiguration)
	unless(q.picksFolders(row.Folders), byFolderState)
	unless(q.picksVersion(row.Version), byVersion)
	unless(among(q.Systems, row.OS), byOS)
	unless(!slices.ContainsFunc(q.Tags, func(tag fleet.Tag) bool { return !row.Has(tag) }), byTag)
	unless(q.picksWaiting(row), byWaiting)
	unless(!q.Outdated || q.outdated[row.Version], byOutdated)
	unless(q.SeenBefore.IsZero() || row.notSeenSince(q.SeenBefore), byOther)
	unless(among(q.IDs, row.Device.ID), byOther)
	unless(q.DiskBelow == 0 || row.DiskFree >= 0 && row.DiskFree < q.DiskBelow, byOther)
	return missed
}

// notSeenSince reports whether the device is not online and was last seen before a time. A device that was never seen
// counts from when it was registered.
func (r *Row) notSeenSince(at time.Time) bool {
	seen := r.State.LastSeen
	if seen.IsZero() {
		seen = r.Device.CreatedAt
	}
	return r.State.Connection != fleet.Online && seen.Before(at)
}

func (q Query) picksVersion(version string) bool {
	return len(q.Versions) == 0 || slices.ContainsFunc(q.Versions, func(asked string) bool {
		return versionIs(version, asked)
	})
}

// versionIs reports whether a version matches a filter: it is equal or begins so, or is lower or higher as the
// operator says. "2.1" matches v2.1.3, and "<2" every version before v2. An unknown version, or a text that is no
// version, matches no operator.
func versionIs(version, asked string) bool {
	bound := strings.TrimLeft(asked, "<>=")
	relation := strings.TrimSuffix(asked, bound)
	switch {
	case relation == "":
		has, wants := strings.TrimPrefix(version, "v"), strings.TrimPrefix(asked, "v")
		return has == wants || wants != "" && strings.HasPrefix(has, wants+".")
	case !fleet.IsVersion(version):
		return false
	}
	order := fleet.CompareVersions(version, strings.TrimSpace(bound))
	switch relation {
	case "<":
		return order < 0
	case "<=":
		return order <= 0
	case ">":
		return order > 0
	case ">=":
		return order >= 0
	}
	return false
}

func among[K comparable](asked []K, value K) bool {
	return len(asked) == 0 || slices.Contains(asked, value)
}

func (q Query) picksFolders(folders fleet.FolderCounts) bool {
	return len(q.FolderStates) == 0 || slices.ContainsFunc(q.FolderStates, func(asked fleet.FolderState) bool {
		return folders.Of(asked) > 0
	})
}

func (q Query) picksWaiting(row *Row) bool {
	return len(q.Waiting) == 0 || slices.ContainsFunc(q.Waiting, func(asked fleet.WaitCause) bool {
		switch asked {
		case WaitsAny:
			return len(row.Waits) > 0
		case WaitsNone:
			return len(row.Waits) == 0
		case WaitsTrouble:
			return row.inTrouble()
		case WaitsYoung:
			return row.Young
		}
		return slices.Contains(row.Waits, asked)
	})
}

func newFilterCounts() FilterCounts {
	return FilterCounts{
		Connections:    map[string]int{},
		Configurations: map[string]int{},
		FolderStates:   map[string]int{},
		Versions:       map[string]int{},
		OS:             map[string]int{},
		Tags:           map[string]int{},
		Waiting:        map[string]int{},
	}
}

// add counts a row for the one filter that it misses, or for all filters when it misses none. Each tag is a filter of
// its own, so only rows that have all tags of the query count for tags.
func (c *FilterCounts) add(row *Row, missed filters) {
	missedOnly := func(filter filters) bool { return missed&^filter == 0 }
	if missedOnly(byConnection) {
		c.Connections[string(row.State.Connection)]++
	}
	if missedOnly(byConfiguration) {
		c.Configurations[string(row.State.Configuration)]++
	}
	if missedOnly(byFolderState) {
		for state, count := range row.Folders {
			if count > 0 {
				c.FolderStates[fleet.FolderState(state).String()]++
			}
		}
	}
	if missedOnly(byVersion) {
		c.Versions[row.Version]++
	}
	if missedOnly(byOS) {
		c.OS[row.OS]++
	}
	if missedOnly(byWaiting) {
		c.addWaiting(row)
	}
	if missed == 0 {
		for _, tag := range row.Device.Tags {
			c.Tags[string(tag)]++
		}
	}
}

func (c *FilterCounts) addWaiting(row *Row) {
	if row.Young {
		c.Waiting[string(WaitsYoung)]++
	}
	if len(row.Waits) == 0 {
		c.Waiting[string(WaitsNone)]++
		return
	}
	c.Waiting[string(WaitsAny)]++
	if row.inTrouble() {
		c.Waiting[string(WaitsTrouble)]++
	}
	for _, cause := range row.Waits {
		c.Waiting[string(cause)]++
	}
}
