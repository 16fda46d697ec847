package stsim

import (
	"net/http"
	"strconv"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// lacks is what a peer lacks of a folder, as this daemon knows it: all of it where the peer is unknown.
func (d *Daemon) lacks(id fleet.DeviceID, folder string) fleet.FolderSummary {
	own, _ := d.Summary(folder)
	if id == d.id {
		return own
	}
	peer := d.farm.byID[id]
	if peer != nil {
		if sequence, known := d.sequenceOf(peer, folder); known {
			numbers, err := peer.Summary(folder)
			if err == nil {
				own.NeedFiles, own.NeedBytes, own.NeedDeletes = numbers.NeedFiles, numbers.NeedBytes, numbers.NeedDeletes
				own.NeedDirectories, own.NeedSymlinks, own.Sequence = numbers.NeedDirectories, numbers.NeedSymlinks, sequence
				return own
			}
		}
	}
	own.NeedFiles, own.NeedBytes, own.NeedDeletes = own.GlobalFiles, own.GlobalBytes, 0
	own.NeedDirectories, own.NeedSymlinks, own.Sequence = own.GlobalDirectories, own.GlobalSymlinks, 0
	return own
}

// completionOf is the daemon's own calculation: deletions alone leave 95.
func completionOf(s fleet.FolderSummary) float64 {
	switch {
	case s.NeedBytes == 0 && s.NeedDeletes > 0:
		return 95
	case s.GlobalBytes <= 0:
		return 100
	}
	return max(0, 100*(1-float64(s.NeedBytes)/float64(s.GlobalBytes)))
}

// dbCompletion answers for one folder or for all, of this device or of another.
func (e *endpoint) dbCompletion(w http.ResponseWriter, r *http.Request, _ string) {
	d := e.daemon
	device := d.id
	if text := query(r).Get("device"); text != "" {
		id, err := fleet.ParseDeviceID(text)
		if err != nil {
			http.Error(w, strconv.Quote(text)+": device ID invalid: incorrect length", http.StatusInternalServerError)
			return
		}
		device = id
	}
	var all fleet.FolderSummary
	if one := query(r).Get("folder"); one != "" {
		if err := e.lookUp(r, func(*folder, stconfig.Value) {}); err != nil {
			sendError(w, err)
			return
		}
		all = d.lacks(device, one)
	} else {
		for _, id := range d.FolderIDs() {
			s := d.lacks(device, id)
			all.GlobalBytes, all.NeedBytes = all.GlobalBytes+s.GlobalBytes, all.NeedBytes+s.NeedBytes
			all.GlobalFiles, all.NeedFiles = all.GlobalFiles+s.GlobalFiles, all.NeedFiles+s.NeedFiles
			all.GlobalDirectories += s.GlobalDirectories
			all.NeedDirectories += s.NeedDirectories
			all.GlobalSymlinks, all.NeedSymlinks = all.GlobalSymlinks+s.GlobalSymlinks, all.NeedSymlinks+s.NeedSymlinks
			all.NeedDeletes += s.NeedDeletes
		}
	}
	e.sendJSON(w, r, d.completionValue(device, all))
}

func (d *Daemon) completionValue(device fleet.DeviceID, s fleet.FolderSummary) map[string]any {
	says := map[string]any{
		"completion": completionOf(s), "globalBytes": s.GlobalBytes, "needBytes": s.NeedBytes,
		"globalItems": s.GlobalFiles + s.GlobalDirectories + s.GlobalSymlinks,
		"needItems":   s.NeedFiles + s.NeedDirectories + s.NeedSymlinks,
		"needDeletes": s.NeedDeletes, "sequence": s.Sequence,
	}
	if d.Version() == V2 {
		says["remoteState"] = "unknown"
		if to, _ := d.linkTo(string(device)); to != nil {
			says["remoteState"] = "valid"
		}
	}
	return says
}

// tellPeers has the connected peers that share a folder learn of its new sequence, and of what it lacks. The caller
// holds no lock.
func (d *Daemon) tellPeers(id string) {
	for _, peer := range d.sharers(id) {
		p := peer.current()
		to, _ := d.linkTo(string(peer.id))
		if p == nil || to == nil {
			continue
		}
		own := stconfig.Member{Name: "device", Value: stconfig.Text(string(d.id))}
		folder := stconfig.Member{Name: "folder", Value: stconfig.Text(id)}
		s := peer.lacks(d.id, id)
		if p.events.wants("RemoteIndexUpdated") {
			p.log("RemoteIndexUpdated", stconfig.Obj(own, folder, stconfig.Member{Name: "items", Value: number(1)},
				stconfig.Member{Name: "sequence", Value: number(s.Sequence)},
				stconfig.Member{Name: "version", Value: number(s.Sequence)}))
		}
		if p.events.wants("FolderCompletion") {
			members := []stconfig.Member{own, folder, {Name: "completion", Value: floatLiteral(completionOf(s))}}
			for name, value := range peer.completionValue(d.id, s) {
				if n, is := value.(int64); is {
					members = append(members, stconfig.Member{Name: name, Value: number(n)})
				}
			}
			p.log("FolderCompletion", stconfig.Obj(members...))
		}
	}
}
