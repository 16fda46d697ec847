package view

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"muster/internal/core/plan"
	"muster/internal/fleet"
)

// The bounds of one list of differences.
const (
	maxCompared          = 2000 // devices: each is planned
	maxDifferenceChanges = 20_000
	maxDifferenceBytes   = 2 << 20
)

// Differences are the changes in the plans of many devices. Equal changes are one group.
type Differences struct {
	Groups    []Difference // those of most devices first
	Failed    []FailedPlan
	Compared  int
	Left      int // devices that were too many to compare
	Unknown   int // devices of which it is not known whether they differ
	Truncated bool
	Summary   Summary
}

// Difference is a change that several plans have.
type Difference struct {
	PlannedChange
	Devices []fleet.DeviceID
}

// FailedPlan is a device that could not be planned.
type FailedPlan struct {
	Device fleet.DeviceID
	Reason string
}

// EachPlan is called with the changes of a device's plan, or with the reason why the device has no plan.
type EachPlan = func(id fleet.DeviceID, changes []plan.Change, failed error)

// DifferencesOf groups the planned changes of the devices that a query selects. registry and rows are those of the
// caller's scope. planned plans devices and calls its function for each.
func DifferencesOf(registry *fleet.Registry, rows []*Row, q Query,
	planned func(devices []fleet.DeviceID, each EachPlan) error) (Differences, error) {
	l := differenceList{registry: registry, groups: map[[sha256.Size]byte]*Difference{},
		sentences: NewSentenceSum(registry.Label)}
	devices := l.pick(rows, q)
	if err := planned(devices, l.add); err != nil {
		return Differences{}, err
	}
	return l.sorted(devices), nil
}

// differenceList collects differences while plans arrive.
type differenceList struct {
	Differences
	registry       *fleet.Registry
	groups         map[[sha256.Size]byte]*Difference
	sentences      *SentenceSum
	changes, bytes int // shown so far
}

// pick returns the devices of a query whose configuration differs from their templates.
func (l *differenceList) pick(rows []*Row, q Query) (devices []fleet.DeviceID) {
	q, _ = q.among(rows)
	for _, row := range rows {
		if !q.Picks(row) {
			continue
		}
		switch row.State.Configuration {
		case fleet.ConfigInSync, fleet.ConfigUnmanaged:
		case fleet.ConfigUnknown:
			l.Unknown++
		default:
			devices = append(devices, row.Device.ID)
		}
	}
	l.Compared = min(len(devices), maxCompared)
	l.Left = len(devices) - l.Compared
	l.sentences.isPartial = l.Left+l.Unknown > 0
	return devices[:l.Compared]
}

func (l *differenceList) add(id fleet.DeviceID, changes []plan.Change, failed error) {
	if failed != nil {
		reason := fleet.WithNames(fleet.ShortReason(failed), l.registry.Label)
		l.Failed = append(l.Failed, FailedPlan{id, reason})
		l.sentences.Fail(id, reason, false)
		return
	}
	l.sentences.Add(id, changes, nil)
	for _, change := range changes {
		if l.changes > maxDifferenceChanges || l.bytes > maxDifferenceBytes {
			l.Truncated = true
			return
		}
		l.changes++
		same := Difference{PlannedChange: PlannedChangeOf(change, l.registry)}
		sum := same.sum()
		group := l.groups[sum]
		if group == nil {
			l.bytes += change.ShownSize(maxDifferenceBytes)
			group = &same
			l.groups[sum] = group
		}
		group.Devices = append(group.Devices, id)
	}
}

// sum returns a hash that is equal for changes that are shown alike.
func (d *Difference) sum() [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %q %v %q %q %v %v", d.Key, d.From, d.To, d.Templates, d.Class, d.Reason,
		d.Drift, d.Returns))
}

// sorted orders the devices of each difference, and the failed devices, as in the argument.
func (l *differenceList) sorted(devices []fleet.DeviceID) Differences {
	place := make(map[fleet.DeviceID]int, len(devices))
	for i, id := range devices {
		place[id] = i
	}
	inOrder := func(a, b fleet.DeviceID) int { return cmp.Compare(place[a], place[b]) }
	for _, group := range l.groups {
		slices.SortFunc(group.Devices, inOrder)
		l.Groups = append(l.Groups, *group)
	}
	slices.SortFunc(l.Groups, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(len(b.Devices), len(a.Devices)), strings.Compare(a.Key, b.Key),
			cmp.Compare(a.Devices[0], b.Devices[0]), bytes.Compare(a.To, b.To), strings.Compare(a.Reason, b.Reason))
	})
	slices.SortFunc(l.Failed, func(a, b FailedPlan) int { return inOrder(a.Device, b.Device) })
	l.Summary = l.sentences.Summary()
	return l.Differences
}
