package mirror

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// The watcher reads at first contact which devices and folders are pending at a daemon. Afterwards it applies the
// daemon's events (Syncthing 1.14 and later: lib/events, lib/model/indexhandler.go and model.go). It asks for events
// before it reads, so an event may be applied twice, which changes nothing. Pending devices and folders are not
// stored, because the daemons store them.
const (
	devicesChanged = "PendingDevicesChanged"
	foldersChanged = "PendingFoldersChanged"
)

const (
	maxPending     = 2000    // entries of one daemon; it bounds the memory that a hostile one can fill
	maxPendingText = 4 << 10 // bytes of a name, label, address or folder ID
)

// pendingKey identifies one pending device or folder of a daemon.
type pendingKey struct {
	from   fleet.DeviceID
	folder string // "" for the device itself
}

func pendingKeyOf(p fleet.Pending) pendingKey { return pendingKey{p.From, p.Folder} }

// pendingChanges is the data of both events.
type pendingChanges struct {
	Added []struct {
		DeviceID         string
		Name             string
		Address          string
		FolderID         string
		FolderLabel      string
		ReceiveEncrypted any // the text "true" or the boolean, depending on the daemon's version
	}
	Removed []struct {
		DeviceID string // "" when the folder is no longer pending from any device
		FolderID string
	}
}

// Pending returns the pending devices and folders of all daemons, unsorted.
func (m *Mirror) Pending() (all []fleet.Pending) {
	for _, s := range m.Snapshots() {
		all = append(all, s.Pending...)
	}
	return all
}

// PendingAnswered removes an entry that was accepted or dismissed.
func (m *Mirror) PendingAnswered(p fleet.Pending) {
	if w := m.watcher(p.Device); w != nil {
		w.changePending(func(pending map[pendingKey]fleet.Pending) { delete(pending, pendingKeyOf(p)) })
	}
}

// readPending reads all pending devices and folders. If the daemon answers with an error, the watcher goes on
// following it, and reads them again together with the next status. If the daemon does not answer in time, readPending
// returns the error, which ends the contact: the daemon may stand still, and must not be shown as online while further
// requests wait.
func (w *watcher) readPending(ctx context.Context, d Daemon) error {
	all, err := d.Pending(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return err
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

// applyPendingEvents applies the events about pending devices and folders. If events are missing (gap), or the data of
// an event was too large to be read, it makes all of them due to be read.
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
		from, _ := fleet.ParseDeviceID(gone.DeviceID) // "" when it is not a valid device ID
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

// changePending calls change with the pending devices and folders of the daemon, and puts the result in the snapshot.
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
