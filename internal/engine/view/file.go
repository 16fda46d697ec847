package view

import (
	"context"
	"time"

	"golang.org/x/sync/errgroup"

	"muster/internal/fleet"
)

const (
	asksAtOnce  = 8               // daemons that are asked at the same time
	askPatience = 5 * time.Second // time limit for one daemon
)

// Files asks daemons about items of folders. Every call is a request to a daemon.
type Files interface {
	// File returns not_found when the daemon knows no such item.
	File(ctx context.Context, id fleet.DeviceID, folder, path string) (fleet.File, error)
	// FailedItems is a page of the items that a daemon could not sync; the first page is 1.
	FailedItems(
		ctx context.Context,
		id fleet.DeviceID,
		folder string,
		page, size int,
	) (items []fleet.FailedItem, more bool,
		err error)
}

// FilePresence says whether an item of a folder is on a device.
type FilePresence string

// Whether an item is on a device. The first that holds is shown.
const (
	FileUnknown FilePresence = "unknown" // the daemon could not be asked
	FileUnheard FilePresence = "unheard" // the daemon knows of no such item
	FileIgnored FilePresence = "ignored" // the device's ignore patterns exclude the item
	FileDeleted FilePresence = "deleted" // the newest version is that the item is gone
	FileMissing FilePresence = "missing" // the device lacks the item
	FileOlder   FilePresence = "older"   // the device has an older version than the newest that it knows of
	FilePresent FilePresence = "present"
)

// FilePresences lists all values.
var FilePresences = []FilePresence{FileUnknown, FileUnheard, FileIgnored, FileDeleted, FileMissing, FileOlder,
	FilePresent}

// FileOn is one item of a folder on one device.
type FileOn struct {
	Device   *fleet.Registered
	Presence FilePresence
	Reason   string // reason why the daemon could not be asked; "" when it was asked
	Failed   string // the daemon's reason why it could not sync the item; "" when it did not fail
	File     fleet.File
}

// FileOn asks the daemons of some devices about one item of a folder. It asks asksAtOnce of them at a time, and waits
// for each no longer than askPatience.
func (v *View) FileOn(ctx context.Context, folder, path string, devices []*fleet.Registered) ([]FileOn, error) {
	all := make([]FileOn, len(devices))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(asksAtOnce)
	for i, device := range devices {
		group.Go(func() error {
			all[i] = v.askFile(ctx, folder, path, device)
			return ctx.Err()
		})
	}
	return all, group.Wait()
}

func (v *View) askFile(ctx context.Context, folder, path string, device *fleet.Registered) FileOn {
	out := FileOn{Device: device, Presence: FileUnknown}
	snapshot := v.Snapshot(device.ID)
	if snapshot == nil || !snapshot.Answers() {
		out.Reason = "its daemon is not online"
		return out
	}
	if share, known := snapshot.Share(folder); known && share.Type == fleet.ReceiveEncrypted {
		out.Reason = "the device has the folder encrypted, and does not know the names of files"
		return out
	}
	for _, item := range snapshot.FailedItems[folder] {
		if item.Path == path {
			out.Failed = item.Text
		}
	}
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	file, err := v.Files.File(ctx, device.ID, folder, path)
	switch {
	case fleet.CodeOf(err) == fleet.CodeNotFound:
		out.Presence = FileUnheard
	case err != nil:
		out.Reason = fleet.Reason(err)
	default:
		out.File, out.Presence = file, presenceOf(file)
	}
	return out
}

// FailedOn is an item of a folder that the daemon of a device could not sync.
type FailedOn struct {
	fleet.FailedItem
	Device *fleet.Registered
}

// LastFailedItems returns the first items of a folder that daemons could not sync, as last reported, by device.
func (v *View) LastFailedItems(folder string, devices []*fleet.Registered) []FailedOn {
	var all []FailedOn
	for _, device := range devices {
		if snapshot := v.Snapshot(device.ID); snapshot != nil {
			all = append(all, failedOn(device, snapshot.FailedItems[folder])...)
		}
	}
	return all
}

// FailedItems asks the daemon of a device for a page of the items of a folder that it could not sync. When the daemon
// cannot be asked, the first page is what it reported last.
func (v *View) FailedItems(
	ctx context.Context,
	device *fleet.Registered,
	folder string,
	page, size int,
) (all []FailedOn,
	more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	items, more, err := v.Files.FailedItems(ctx, device.ID, folder, page, size)
	if err != nil && page == 1 {
		if kept := v.LastFailedItems(folder, []*fleet.Registered{device}); len(kept) > 0 {
			return kept, false, nil
		}
	}
	return failedOn(device, items), more, err
}

func failedOn(device *fleet.Registered, items []fleet.FailedItem) []FailedOn {
	all := make([]FailedOn, len(items))
	for i, item := range items {
		all[i] = FailedOn{item, device}
	}
	return all
}

func presenceOf(f fleet.File) FilePresence {
	switch {
	case f.Local.Ignored:
		return FileIgnored
	case !f.Local.Known && !f.Global.Known:
		return FileUnheard
	case f.Global.Known && f.Global.Deleted && (!f.Local.Known || f.Local.Deleted):
		return FileDeleted
	case !f.Local.Known || f.Local.Deleted:
		return FileMissing
	case f.Global.Known && !f.Local.Same(f.Global):
		return FileOlder
	}
	return FilePresent
}
