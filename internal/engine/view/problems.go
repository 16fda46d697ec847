package view

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"muster/internal/fleet"
)

// Problems returns the problems that people are notified of: all causes for which devices wait, except requests of
// other devices. A problem of which nothing is known now neither begins nor ends.
func (v *View) Problems(ctx context.Context, registry *fleet.Registry) (fleet.ProblemReport, error) {
	rows, err := v.Rows(ctx, registry)
	if err != nil {
		return fleet.ProblemReport{}, err
	}
	var report fleet.ProblemReport
	byID := make(map[fleet.DeviceID]*Row, len(rows))
	for _, row := range rows {
		byID[row.Device.ID] = row
		if v.isTried(row) {
			report.Conditions = append(report.Conditions, v.conditions(ctx, row)...)
		}
	}
	report.Unknown = func(key fleet.ProblemKey) bool {
		row := byID[key.Device]
		return row != nil && v.isUnclear(row, key)
	}
	return report, nil
}

// isTried reports whether Muster has reached the device, or tried to, since the server started or the device was put.
func (v *View) isTried(row *Row) bool {
	s := v.Snapshot(row.Device.ID)
	return s != nil && (s.Connection == fleet.Online || !s.NextTry.IsZero())
}

// isUnclear reports whether it is unknown at present if a problem exists.
func (v *View) isUnclear(row *Row, key fleet.ProblemKey) bool {
	switch {
	case !v.isTried(row):
		return true
	case key.Folder != "":
		at, has := slices.BinarySearchFunc(row.folders, key.Folder, func(f folderRow, folder string) int {
			return cmp.Compare(f.Folder, folder)
		})
		return has && (row.folders[at].state == fleet.FolderUnknown || v.isFindingUnclear(key))
	case isOfHome(key.Folder, key.Kind):
		return row.State.Connection != fleet.Online || v.isFindingUnclear(key)
	case slices.Contains(configurationCauses, key.Kind): // on its way to somewhere
		return row.State.Configuration == fleet.ConfigUnknown || row.State.Configuration == fleet.ConfigApplying
	case key.Kind == fleet.WaitStale: // It may be found yet, since Muster has just begun to look for it.
		return row.State.Connection != fleet.Online && !slices.Contains(row.Waits, fleet.WaitUnreachable)
	}
	return false
}

func (v *View) isFindingUnclear(key fleet.ProblemKey) bool {
	return v.FindingUnclear != nil && v.FindingUnclear(key.Device, key.Folder, key.Kind)
}

// configurationCauses are the causes that begin and end with a state of the configuration.
var configurationCauses = []fleet.WaitCause{
	fleet.WaitHeld, fleet.WaitFailed, fleet.WaitContended, fleet.WaitUnstable,
}

// conditions returns the problems of a device.
func (v *View) conditions(ctx context.Context, row *Row) (found []fleet.Condition) {
	for _, cause := range row.Waits {
		c := fleet.Condition{ProblemKey: fleet.ProblemKey{Device: row.Device.ID, Kind: cause}, Label: row.Device.Label,
			Tags: row.Device.Tags, Reason: row.State.Reason, Next: row.State.Next}
		switch {
		case cause == fleet.WaitPendingDevice, cause == fleet.WaitPendingFolder, cause.OfFolder():
			continue
		case cause == fleet.WaitBroughtBack:
			c.Reason, c.Next = row.State.BroughtBack, fleet.WaitTexts[cause].Next
		case cause == fleet.WaitUnreachable:
			c.Since, c.Next = row.awaySince(), cmp.Or(c.Next, fleet.WaitTexts[cause].Next)
		case cause == fleet.WaitStale:
			text := fleet.WaitTexts[cause]
			c.Since, c.Reason, c.Next = row.awaySince(), text.Reason, text.Next
		}
		found = append(found, c)
	}
	for _, trouble := range row.Troubles {
		if !isTellable(trouble.Folder) && !isOfHome(trouble.Folder, trouble.Cause) {
			continue
		}
		reason, next := v.Standing(ctx, row.Device.ID, trouble.Folder).Text(trouble.Cause)
		text := fleet.WaitTexts[trouble.Cause]
		found = append(found, fleet.Condition{
			ProblemKey: fleet.ProblemKey{Device: row.Device.ID, Folder: trouble.Folder, Kind: trouble.Cause},
			Label:      row.Device.Label, Tags: row.Device.Tags, Since: trouble.Since,
			Reason: cmp.Or(reason, text.Reason), Next: cmp.Or(next, text.Next),
		})
	}
	return found
}

// maxFolderBytes is the longest folder ID, in bytes, for which problems are stored. Real IDs are short.
const maxFolderBytes = 1 << 10

func isTellable(folder string) bool {
	return folder != "" && len(folder) <= maxFolderBytes && !strings.Contains(folder, "\x00")
}

// isOfHome reports whether a trouble concerns the disk of a daemon's home, on a device without folders.
func isOfHome(folder string, cause fleet.WaitCause) bool {
	return folder == "" && cause == fleet.WaitDiskNearlyFull
}
