package view

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"muster/internal/fleet"
)

// Trouble is one kind of trouble in a part of the fleet.
type Trouble struct {
	Cause   fleet.WaitCause
	Devices int
	Folders int       // number of folders on devices; 0 for trouble of devices as a whole
	Since   time.Time // beginning of the one that has lasted longest; zero: unknown
	Tags    map[fleet.Tag]int
	// First is the device where the trouble has lasted longest, and its folder. Folder is "" for trouble of a device as a
	// whole.
	First       *fleet.Registered
	FirstFolder string
	Reason      string // Why it stands there. Set in an Overview of Summaries only, as Next is.
	Next        string // What a person can do.
}

// Attention is what a person who opens a part of the fleet sees first. Readers must not change it.
type Attention struct {
	Troubles []Trouble      // ordered by severity, the worst first
	Troubled int            // number of devices with any trouble
	Young    int            // number of devices with something that becomes trouble if it lasts
	Waiting  []*Row         // rows with a cause to wait, in the order of the list
	Versions map[string]int // number of devices by version of their daemon; unknown versions are not counted
	Outdated fleet.Outdated // versions among all devices of the caller's scope
	// OutdatedCount is the number of devices with an outdated version.
	OutdatedCount int
}

// Attention returns the attention of the caller's scope. It is computed again when a row has changed.
func (v *View) Attention(ctx context.Context, registry *fleet.Registry) (out Attention, err error) {
	p := v.partOf(ctx)
	err = p.reading(ctx, registry, func() error {
		if p.attentionOf != p.rows.revision {
			rows := p.rows.inOrder()
			p.attention, p.attentionOf = attentionOf(rows, outdatedAmong(rows)), p.rows.revision
		}
		out = p.attention
		return nil
	})
	return out, err
}

// Among returns the numbers and the attention of the devices in the caller's scope that picks accepts.
func (v *View) Among(ctx context.Context, registry *fleet.Registry, picks func(*fleet.Registered) bool) (
	counts fleet.Counts, attention Attention, err error) {
	rows, err := v.Rows(ctx, registry)
	outdated := outdatedAmong(rows)
	rows = slices.DeleteFunc(slices.Clone(rows), func(row *Row) bool { return !picks(row.Device) })
	picked := newTotals(v.newRevision)
	for _, row := range rows {
		picked.replace(nil, row)
	}
	return picked.counts(), attentionOf(rows, outdated), err
}

func attentionOf(rows []*Row, outdated fleet.Outdated) (out Attention) {
	out.Versions, out.Outdated = map[string]int{}, outdated
	for _, row := range rows {
		if len(row.Waits) > 0 {
			out.Waiting = append(out.Waiting, row)
		}
		if row.Young {
			out.Young++
		}
		if row.Version != "" {
			out.Versions[row.Version]++
		}
	}
	for _, version := range outdated.Versions {
		out.OutdatedCount += out.Versions[version]
	}
	out.Troubles, out.Troubled = TroublesOf(out.Waiting)
	return out
}

// outdatedAmong compares the versions of all devices of a scope.
func outdatedAmong(rows []*Row) fleet.Outdated {
	counts := map[string]int{}
	for _, row := range rows {
		counts[row.Version]++
	}
	return fleet.OutdatedAmong(counts)
}

// TroublesOf sums up the troubles of rows, the worst kind first. devices is the number of rows with any trouble.
func TroublesOf(rows []*Row) (troubles []Trouble, devices int) {
	byCause := map[fleet.WaitCause]*Trouble{}
	for _, row := range rows {
		if row.addTroubles(byCause) {
			devices++
		}
	}
	for _, cause := range fleet.TroubleCauses {
		if one := byCause[cause]; one != nil {
			troubles = append(troubles, *one)
		}
	}
	severity := func(t Trouble) int { return slices.Index(fleet.Severities, fleet.WaitTexts[t.Cause].Severity) }
	slices.SortStableFunc(troubles, func(a, b Trouble) int { return severity(a) - severity(b) })
	return troubles, devices
}

// addTroubles adds the troubles of a device to the sums, and reports whether it has any.
func (r *Row) addTroubles(to map[fleet.WaitCause]*Trouble) (any bool) {
	for _, cause := range r.Waits {
		if !slices.Contains(fleet.TroubleCauses, cause) {
			continue
		}
		one := to[cause]
		if one == nil {
			one = &Trouble{Cause: cause, Tags: map[fleet.Tag]int{}}
			to[cause] = one
		}
		one.Devices++
		for _, tag := range r.Device.Tags {
			one.Tags[tag]++
		}
		if cause == fleet.WaitUnreachable {
			one.begin(r, "", r.awaySince())
		}
		for _, folder := range r.Troubles {
			if folder.Cause == cause {
				if folder.Folder != "" {
					one.Folders++
				}
				one.begin(r, folder.Folder, folder.Since)
			}
		}
		any = true
	}
	return any
}

func (t *Trouble) begin(row *Row, folder string, since time.Time) {
	if t.First == nil || !since.IsZero() && (t.Since.IsZero() || since.Before(t.Since)) {
		t.First, t.FirstFolder, t.Since = row.Device, folder, since
	}
}

// MostTags returns the tags that most of the devices have, at most as many as most says.
func (t *Trouble) MostTags(most int) []fleet.Tag {
	return mostOf(t.Tags, most)
}

// mostOf returns the names with the largest numbers, the largest first, at most as many as most says.
func mostOf[K ~string](counts map[K]int, most int) []K {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b K) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	return names[:min(len(names), most)]
}
