package view

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"muster/internal/fleet"
)

// Trouble is one kind of trouble that stands in a part of the fleet.
type Trouble struct {
	Cause   fleet.WaitCause
	Devices int
	Folders int       // folders on devices; 0 where it is one of devices as a whole
	Since   time.Time // of the one that stands longest; zero: not known
	Tags    map[fleet.Tag]int
	// First is where it stands longest, with its folder; "" where it is one of devices as a whole.
	First       *fleet.Registered
	FirstFolder string
	Reason      string // Why it stands there. Set in an Overview of Summaries only, as Next is.
	Next        string // What a person can do.
}

// Attention is what a person who looks at a part of the fleet sees first. Readers do not change it.
type Attention struct {
	Troubles []Trouble      // the worst kind first
	Troubled int            // devices that have any
	Waiting  []*Row         // rows with a cause to wait, in the order of the list
	Versions map[string]int // devices by version of their daemon, where that is known
}

// Attention is that of the caller's scope. It is made anew when a row changed.
func (v *View) Attention(ctx context.Context, registry *fleet.Registry) (out Attention, err error) {
	p := v.partOf(ctx)
	err = p.reading(ctx, registry, func() error {
		if p.attentionOf != p.rows.revision {
			p.attention, p.attentionOf = attentionOf(p.rows.inOrder()), p.rows.revision
		}
		out = p.attention
		return nil
	})
	return out, err
}

// Among are the devices of the caller's scope that picks takes, in numbers, and what a person sees first of them.
func (v *View) Among(ctx context.Context, registry *fleet.Registry, picks func(*fleet.Registered) bool) (
	counts fleet.Counts, attention Attention, err error) {
	rows, err := v.Rows(ctx, registry)
	rows = slices.DeleteFunc(slices.Clone(rows), func(row *Row) bool { return !picks(row.Device) })
	picked := newTotals(v.newRevision)
	for _, row := range rows {
		picked.replace(nil, row)
	}
	return picked.counts(), attentionOf(rows), err
}

func attentionOf(rows []*Row) (out Attention) {
	out.Versions = map[string]int{}
	for _, row := range rows {
		if len(row.Waits) > 0 {
			out.Waiting = append(out.Waiting, row)
		}
		if row.Version != "" {
			out.Versions[row.Version]++
		}
	}
	out.Troubles, out.Troubled = TroublesOf(out.Waiting)
	return out
}

// TroublesOf sums up the trouble of rows, the worst kind first, and counts the devices that have any.
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
	return troubles, devices
}

// addTroubles counts the trouble of a device, and tells whether it has any.
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

// MostTags are the tags that most of the devices carry, at most so many.
func (t *Trouble) MostTags(most int) []fleet.Tag {
	tags := slices.SortedFunc(maps.Keys(t.Tags), func(a, b fleet.Tag) int {
		return cmp.Or(cmp.Compare(t.Tags[b], t.Tags[a]), cmp.Compare(a, b))
	})
	return tags[:min(len(tags), most)]
}
