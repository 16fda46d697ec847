package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

const (
	shownReasons = 5  // Each kind of trouble has at most so many.
	wholeGroups  = 20 // groups of trouble whose devices are all read
)

// isTrouble reports whether a group has a reason for each device.
func isTrouble(g api.WaitingGroup) bool {
	cause := fleet.WaitCause(g.Cause)
	return cause == fleet.WaitStale || slices.Contains(fleet.TroubleCauses, cause)
}

// reasonLines have each reason of the devices once, with its number of devices. The list has the devices of several
// groups where a kind of trouble concerns several folders.
func reasonLines(devices []api.WaitingDevice) (lines []string) {
	type why struct {
		reason string
		names  []string
	}
	var found []*why
	for _, d := range devices {
		if d.Detail == "" {
			continue
		}
		at := slices.IndexFunc(found, func(w *why) bool { return w.reason == d.Detail })
		if at < 0 {
			at, found = len(found), append(found, &why{reason: d.Detail})
		}
		if name := nameOf(d.DeviceID, d.Label); !slices.Contains(found[at].names, name) {
			found[at].names = append(found[at].names, name)
		}
	}
	slices.SortStableFunc(found, func(a, b *why) int { return cmp.Compare(len(b.names), len(a.names)) })
	for _, w := range found {
		who := w.names[0]
		if many := len(w.names); many > 1 {
			who = fmt.Sprintf("%s (%s)", counted(many, "device"), strings.Join(w.names[:min(many, namedDevices)], ", "))
		}
		lines = append(lines, who+": "+printable(w.reason))
	}
	return lines
}

// firstReasons are the first lines, and how many are left.
func firstReasons(lines []string, where string) []string {
	if more := len(lines) - shownReasons; more > 0 {
		lines = append(slices.Clone(lines[:shownReasons]), "and "+fleet.NumberText(more)+" more"+where)
	}
	return lines
}

// reasonsOf are the reasons of one kind of trouble on these devices, and the next step that holds for all of them.
// They are read from what waits: a trouble has the reason of one device alone.
func reasonsOf(t api.Trouble, groups []api.WaitingGroup, isShown func(string) bool) (lines []string, next string) {
	var devices []api.WaitingDevice
	for _, g := range groups {
		if g.Cause != t.Cause {
			continue
		}
		for _, d := range g.Devices {
			if isShown(d.DeviceID) {
				devices = append(devices, d)
			}
		}
		switch {
		case next == "":
			next = nextOfGroup(g)
		case next != nextOfGroup(g):
			next = fleet.WaitTexts[fleet.WaitCause(t.Cause)].Next + " Type `muster waiting`."
		}
	}
	return reasonLines(devices), next
}

// withAllDevices completes groups: the held ones, because a person who answers sees every device that a group
// changes, and the first of those of trouble, for the reasons of all their devices.
func withAllDevices(ctx context.Context, server *client.Client, groups []api.WaitingGroup) error {
	left := wholeGroups
	for i, g := range groups {
		if len(g.Devices) == g.DeviceCount || len(heldOf(g)) == 0 && (left == 0 || !isTrouble(g)) {
			continue
		}
		if isTrouble(g) {
			left--
		}
		whole, err := server.Waiting(ctx, g.ID)
		if err != nil {
			return err
		}
		if len(whole.Groups) == 1 {
			groups[i] = whole.Groups[0]
		}
	}
	return nil
}

// troubleGroups are the groups of trouble. They are not read where each trouble is in one place.
func troubleGroups(ctx context.Context, env *environment, server *client.Client,
	troubles []api.Trouble) []api.WaitingGroup {
	if !slices.ContainsFunc(troubles, func(t api.Trouble) bool { return t.Devices > 1 || t.Folders > 1 }) {
		return nil
	}
	waiting, err := server.Waiting(ctx, "")
	if err == nil {
		waiting.Groups = slices.DeleteFunc(waiting.Groups, func(g api.WaitingGroup) bool { return !isTrouble(g) })
		err = withAllDevices(ctx, server, waiting.Groups)
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(env.Err, "Warning: the reasons of the devices could not be read: %s\n", printable(fleet.Reason(err)))
	}
	return waiting.Groups
}
