package cli

import (
	"fmt"
	"strconv"
	"strings"

	"muster/api"
	"muster/internal/fleet"
)

// isCurrent reports whether the numbers of a folder on a device are about now.
func isCurrent(f api.FolderStanding) bool {
	state, err := fleet.ParseFolderState(f.State)
	return err == nil && state.IsCurrent() && !f.Paused
}

// lackOf is what a device lacks of a folder. Numbers that are not about now have their age, and nothing is said where
// they are zero.
func lackOf(f api.FolderStanding) string {
	lack := missingOf(f.NeedBytes, f.NeedItems, f.NeedDeletes)
	if isCurrent(f) {
		return lack
	}
	if f.AsOf == nil || f.NeedBytes == 0 && f.NeedItems == 0 && f.NeedDeletes == 0 {
		return "-"
	}
	return "lacked " + lack + ", as of " + shortTime(f.AsOf)
}

// lackOnDevices is what is missing on several devices together. unknown is on how many of them nobody knows.
func lackOnDevices(bytes int64, devices, unknown int) string {
	if devices == 0 {
		return "-"
	}
	return lackOfAll(bytes, unknown, "on "+counted(unknown, "device"))
}

// lackOfAll is what is missing in all. Where it is not known somewhere the number is the least, and a zero is not said.
func lackOfAll(bytes int64, unknown int, where string) string {
	switch {
	case unknown == 0:
		return fleet.ByteText(bytes)
	case bytes == 0:
		return "not known " + where
	}
	return "at least " + fleet.ByteText(bytes) + ", not known " + where
}

// lackOfDevice is what a device lacks, with the time at which it was heard of last while it is away.
func lackOfDevice(d api.InventoryDevice) string {
	isAway := d.Connection != string(fleet.Online) && d.LastSeen != nil
	switch {
	case d.NeedBytes > 0 && isAway:
		return "lacked " + fleet.ByteText(d.NeedBytes) + ", as of " + shortTime(d.LastSeen)
	case d.NeedBytes > 0 && d.NeedUnknown > 0:
		return fleet.ByteText(d.NeedBytes) + " as last told, not known of " + counted(d.NeedUnknown, "folder")
	case isAway || d.NeedUnknown > 0 || d.Folders["all"] == 0:
		return "-"
	}
	return fleet.ByteText(d.NeedBytes)
}

// missingOf is what is missing: "1.5 GiB, 12 items, 3 to delete".
func missingOf(bytes, items, deletes int64) string {
	parts := []string{fleet.ByteText(bytes)}
	if items > 0 {
		parts = append(parts, counted(int(items), "item"))
	}
	if deletes > 0 {
		parts = append(parts, strconv.FormatInt(deletes, 10)+" to delete")
	}
	return strings.Join(parts, ", ")
}

// progressOf is how far a folder on a device is, in a line: what is missing, how fast it comes, until when, who has it,
// and the age of the numbers, "" when nothing was read.
func progressOf(f api.FolderStanding, label func(fleet.DeviceID) string) string {
	if f.AsOf == nil {
		return ""
	}
	if !isCurrent(f) {
		if lack := lackOf(f); lack != "-" {
			return lack
		}
		return "read " + shortTime(f.AsOf)
	}
	parts := []string{missingOf(f.NeedBytes, f.NeedItems, f.NeedDeletes) + " to go"}
	if rate := rateOf(f.Rate); rate != "-" {
		parts = append(parts, rate)
	}
	if done := doneOf(f.DoneBetween); done != "-" {
		parts = append(parts, "done "+done)
	}
	if len(f.HeldBy) > 0 {
		parts = append(parts, "held by "+holdersOf(f.HeldBy, label))
	}
	return strings.Join(append(parts, "as of "+shortTime(f.AsOf)), ", ")
}

// besidesOf has a line for each thing that is wrong with a folder besides its state.
func besidesOf(f api.FolderStanding) (lines []string) {
	for _, found := range f.Besides {
		line := fmt.Sprintf("besides, %s since %s: %s", folderWords(found.Cause), shortTime(found.Since), found.Reason)
		if found.Next != "" {
			line += ". " + nextOf(f, found.Cause, found.Next)
		}
		lines = append(lines, line)
	}
	return lines
}
