package syncthing

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"muster/internal/fleet"
)

// maxPending limits the pending devices, and the pending folders, of one daemon.
const maxPending = 1000

const duringPending = "ask what is pending"

// Pending reads /rest/cluster/pending: devices and folders that ask the daemon to be added. For a daemon without this
// path the list is empty.
func (c calls) Pending(ctx context.Context) ([]fleet.Pending, error) {
	devices, err := c.pending(ctx, "/rest/cluster/pending/devices")
	if fleet.CodeOf(err) == fleet.CodeNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	folders, err := c.pending(ctx, "/rest/cluster/pending/folders")
	if err != nil {
		return nil, err
	}
	all, err := parsePendingDevices(devices, c.limits)
	if err != nil {
		return nil, err
	}
	offered, err := parsePendingFolders(folders, c.limits)
	return append(all, offered...), err
}

func (c calls) pending(ctx context.Context, path string) ([]byte, error) {
	return c.get(ctx, path, duringPending)
}

// DismissPending removes an entry from the daemon's pending devices or folders. The same device may ask again.
func (c calls) DismissPending(ctx context.Context, asks fleet.Pending) error {
	path := "/rest/cluster/pending/devices?device=" + url.QueryEscape(string(asks.From))
	if asks.Folder != "" {
		path = "/rest/cluster/pending/folders?folder=" + url.QueryEscape(asks.Folder) + "&device=" +
			url.QueryEscape(string(asks.From))
	}
	return c.Write(ctx, http.MethodDelete, path, nil)
}

func parsePendingDevices(body []byte, l *Limits) ([]fleet.Pending, error) {
	var said map[string]struct {
		Time          time.Time
		Name, Address string
	}
	if err := decode(body, &said, l, duringPending); err != nil {
		return nil, err
	}
	if len(said) > maxPending {
		return nil, disbelieve(duringPending, "too many devices ask to be let in", nil)
	}
	var all []fleet.Pending
	for id, d := range said {
		from, err := fleet.ParseDeviceID(id)
		if err != nil {
			return nil, disbelieve(duringPending, "it names a device by no device ID", err)
		}
		if err := sane(l, duringPending, d.Name, d.Address); err != nil {
			return nil, err
		}
		all = append(all, fleet.Pending{From: from, Name: d.Name, Address: d.Address, Since: d.Time})
	}
	return all, nil
}

func parsePendingFolders(body []byte, l *Limits) ([]fleet.Pending, error) {
	var said map[string]struct {
		OfferedBy map[string]struct {
			Time             time.Time
			Label            string
			ReceiveEncrypted bool
		}
	}
	if err := decode(body, &said, l, duringPending); err != nil {
		return nil, err
	}
	var all []fleet.Pending
	for folder, offers := range said {
		for id, offer := range offers.OfferedBy {
			from, err := fleet.ParseDeviceID(id)
			if err != nil {
				return nil, disbelieve(duringPending, "it names a device by no device ID", err)
			}
			if err := sane(l, duringPending, folder, offer.Label); err != nil {
				return nil, err
			}
			all = append(all, fleet.Pending{From: from, Folder: folder, FolderLabel: offer.Label,
				Encrypted: offer.ReceiveEncrypted, Since: offer.Time})
		}
	}
	if len(all) > maxPending {
		return nil, disbelieve(duringPending, "too many folders ask to be let in", nil)
	}
	return all, nil
}
