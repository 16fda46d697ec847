package pending

import (
	"encoding/json"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// The events in which daemons tell what changes, since 1.14 (lib/events, lib/model/indexhandler.go and model.go).
const (
	devicesChanged = "PendingDevicesChanged"
	foldersChanged = "PendingFoldersChanged"
)

// changes is the data of either event.
type changes struct {
	Added []struct {
		DeviceID         string
		Name             string
		Address          string
		FolderID         string
		FolderLabel      string
		ReceiveEncrypted any // "true", or true: both were seen
	}
	Removed []struct {
		DeviceID string // "": of a folder, whoever offers it
		FolderID string
	}
}

// Event takes an event of a daemon; those that are about something else are passed over.
func (i *Inbox) Event(id fleet.DeviceID, e fleet.DaemonEvent) {
	if e.Type != devicesChanged && e.Type != foldersChanged {
		return
	}
	if e.Data == nil {
		i.again(id)
		return
	}
	var said changes
	if err := json.Unmarshal(e.Data, &said); err != nil {
		i.log.Info("event not understood", logkey.Device, id, logkey.Err(err))
		return
	}
	i.change(id, func(asking map[key]fleet.Pending) {
		i.told[id] = true
		for _, gone := range said.Removed {
			from, _ := fleet.ParseDeviceID(gone.DeviceID) // "" when it is none
			for k := range asking {
				if k.folder == gone.FolderID && (k.from == from || gone.DeviceID == "" && k.folder != "") {
					delete(asking, k)
				}
			}
		}
		for _, added := range said.Added {
			from, err := fleet.ParseDeviceID(added.DeviceID)
			if err != nil || len(asking) >= mostOfOne || (e.Type == foldersChanged) != (added.FolderID != "") {
				continue
			}
			asks := fleet.Pending{
				Device: id, From: from, Name: cut(added.Name), Address: cut(added.Address), Folder: added.FolderID,
				FolderLabel: cut(added.FolderLabel),
				Encrypted:   added.ReceiveEncrypted == "true" || added.ReceiveEncrypted == true, Since: time.Now(),
			}
			if was, known := asking[keyOf(asks)]; known {
				asks.Since = was.Since
			}
			if len(asks.Folder) <= maxText {
				asking[keyOf(asks)] = asks
			}
		}
	})
}

// again has a daemon read whose event said more than is kept.
func (i *Inbox) again(id fleet.DeviceID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.devices[id] == nil { // forgotten, or due for the first time
		return
	}
	i.told[id] = true
	if _, waits := i.due[id]; !waits {
		i.due[id] = time.Now().Add(i.o.Quiet)
	}
	i.rouse()
}

const maxText = 4 << 10

// cut keeps a hostile text small.
func cut(text string) string { return text[:min(len(text), maxText)] }
