package mirror

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// What is pending at a daemon is read at first contact. After that its events tell the changes (since 1.14: lib/events,
// lib/model/indexhandler.go and model.go). They are followed from before that reading on: to apply one twice changes
// nothing. Nothing of it is kept on disk: the daemons have it.
const (
	devicesChanged = "PendingDevicesChanged"
	foldersChanged = "PendingFoldersChanged"
)

const (
	maxPending     = 2000    // entries of one daemon: those of a hostile one cost no more
	maxPendingText = 4 << 10 // bytes
)

// pendingKey is one entry of what is pending at a device.
type pendingKey struct {
	from   fleet.DeviceID
	folder string // "" for the device itself
}

func pendingKeyOf(p fleet.Pending) pendingKey { return pendingKey{p.From, p.Folder} }

// pendingChanges is the data of either event.
type pendingChanges struct {
	Added []struct {
		DeviceID         string
		Name             string
		Address          string
		FolderID         string
		FolderLabel      string
		ReceiveEncrypted any // "true", or true: daemons send both
	}
	Removed []struct {
		DeviceID string // "": of a folder, from all devices
		FolderID string
	}
}

// Pending is what is pending at all devices, in no order.
func (m *Mirror) Pending() (all []fleet.Pending) {
	for _, s := range m.Snapshots() {
		all = append(all, s.Pending...)
	}
	return all
}

// PendingAnswered drops an entry that was accepted or dismissed.
func (m *Mirror) PendingAnswered(p fleet.Pending) {
	if w := m.watcher(p.Device); w != nil {
		w.changePending(func(pending map[pendingKey]fleet.Pending) { delete(pending, pendingKeyOf(p)) })
	}
}

// readPending reads all of it. A daemon that fails to answer is followed all the same, and read again with its next
// status.
func (w *watcher) readPending(ctx context.Context, d Daemon) error {
	all, err := d.Pending(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		if !w.pendingDue {
			w.log.Info("what is pending was not read", logkey.Err(err))
		}
		w.pendingDue = true
		return nil
	}
	w.pendingDue = false
	w.changePending(func(pending map[pendingKey]fleet.Pending) {
		clear(pending)
		for _, p := range all {
			p.Device = w.device.ID
			pending[pendingKeyOf(p)] = p
		}
	})
	return nil
}

// applyPendingEvents applies the events about what is pending. Where an event has more data than is kept, or events are
// missing, all of it is read again.
func (w *watcher) applyPendingEvents(events []fleet.DaemonEvent, gap bool) {
	w.pendingDue = w.pendingDue || gap
	for _, e := range events {
		if e.Type != devicesChanged && e.Type != foldersChanged {
			continue
		}
		var changes pendingChanges
		switch err := json.Unmarshal(e.Data, &changes); {
		case e.Data == nil:
			w.pendingDue = true
		case err != nil:
			w.log.Info("event not understood", logkey.Err(err))
		default:
			w.changePending(func(pending map[pendingKey]fleet.Pending) {
				changes.apply(pending, w.device.ID, e.Type == foldersChanged)
			})
		}
	}
}

func (c pendingChanges) apply(pending map[pendingKey]fleet.Pending, device fleet.DeviceID, folders bool) {
	for _, gone := range c.Removed {
		from, _ := fleet.ParseDeviceID(gone.DeviceID) // "" when it is none
		maps.DeleteFunc(pending, func(k pendingKey, _ fleet.Pending) bool {
			return k.folder == gone.FolderID && (k.from == from || gone.DeviceID == "" && k.folder != "")
		})
	}
	for _, a := range c.Added {
		from, err := fleet.ParseDeviceID(a.DeviceID)
		if err != nil || len(pending) >= maxPending || folders != (a.FolderID != "") || len(a.FolderID) > maxPendingText {
			continue
		}
		p := fleet.Pending{
			Device: device, From: from, Name: shortened(a.Name), Address: shortened(a.Address), Folder: a.FolderID,
			FolderLabel: shortened(a.FolderLabel), Encrypted: a.ReceiveEncrypted == "true" || a.ReceiveEncrypted == true,
			Since: time.Now(),
		}
		if was, known := pending[pendingKeyOf(p)]; known {
			p.Since = was.Since
		}
		pending[pendingKeyOf(p)] = p
	}
}

func shortened(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxPendingText)], "")
}

// changePending changes what is pending at the device.
func (w *watcher) changePending(change func(map[pendingKey]fleet.Pending)) {
	w.update(func(s *Snapshot) Aspect {
		pending := make(map[pendingKey]fleet.Pending, len(s.Pending))
		for _, p := range s.Pending {
			pending[pendingKeyOf(p)] = p
		}
		change(pending)
		same := len(pending) == len(s.Pending)
		for _, p := range s.Pending {
			_, there := pending[pendingKeyOf(p)]
			same = same && there
		}
		s.Pending = slices.Collect(maps.Values(pending))
		if same {
			return 0
		}
		return fleet.PendingChanged
	})
}
