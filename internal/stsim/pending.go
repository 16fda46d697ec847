package stsim

import (
	"net/http"
	"slices"
	"time"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// pendingDevice asked to be let in.
type pendingDevice struct {
	id            fleet.DeviceID
	name, address string
	time          time.Time
}

// pendingFolder was offered by a device.
type pendingFolder struct {
	id, label string
	from      fleet.DeviceID
	time      time.Time
}

// AddPendingDevice is a device that asks to be let in.
func (d *Daemon) AddPendingDevice(id fleet.DeviceID, name, address string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pendingDevices = slices.DeleteFunc(d.pendingDevices, func(p pendingDevice) bool { return p.id == id })
	d.pendingDevices = append(d.pendingDevices, pendingDevice{id: id, name: name, address: address,
		time: time.Now().Truncate(time.Second)})
	d.tellPending("PendingDevicesChanged", "added", entry("deviceID", string(id), "name", name, "address", address))
}

// AddPendingFolder is a folder that a known device offers.
func (d *Daemon) AddPendingFolder(folder, label string, from fleet.DeviceID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pendingFolders = slices.DeleteFunc(d.pendingFolders, func(p pendingFolder) bool {
		return p.id == folder &&
			p.from == from
	})
	d.pendingFolders = append(d.pendingFolders, pendingFolder{id: folder, label: label, from: from,
		time: time.Now().Truncate(time.Second)})
	e := entry("deviceID", string(from), "folderID", folder, "folderLabel", label)
	d.tellPending("PendingFoldersChanged", "added", e.With("receiveEncrypted",
		stconfig.Text("false")).With("remoteEncrypted", stconfig.Text("false")))
}

// tellPending logs a change of what is pending. The caller holds mu.
func (d *Daemon) tellPending(event, what string, entries ...stconfig.Value) {
	if d.process != nil && len(entries) > 0 {
		d.process.log(event, object1(what, stconfig.List(entries...)))
	}
}

func entry(pairs ...string) stconfig.Value {
	var m []stconfig.Member
	for i := 0; i < len(pairs); i += 2 {
		m = append(m, stconfig.Member{Name: pairs[i], Value: stconfig.Text(pairs[i+1])})
	}
	return stconfig.Obj(m...)
}

// forgetPending drops what a new configuration has accepted or ignored.
func (d *Daemon) forgetPending(_ *process, doc stconfig.Value) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dropDevices(func(p pendingDevice) bool {
		_, err := devices.find(doc, string(p.id))
		ignored := slices.ContainsFunc(slices.Collect(doc.Get("remoteIgnoredDevices").Values()), hasDeviceID(string(p.id)))
		return err == nil || ignored
	})
	d.dropFolders(func(p pendingFolder) bool {
		offerer, err := devices.find(doc, string(p.from))
		if err != nil {
			return true
		}
		config, err := folders.find(doc, p.id)
		shared := err == nil && slices.ContainsFunc(slices.Collect(config.Get("devices").Values()),
			hasDeviceID(string(p.from)))
		ignored := slices.ContainsFunc(slices.Collect(offerer.Get("ignoredFolders").Values()),
			func(v stconfig.Value) bool { return v.Get("id").Str() == p.id })
		return shared || ignored
	})
}

// dropDevices forgets pending devices and tells so. The caller holds mu.
func (d *Daemon) dropDevices(drop func(pendingDevice) bool) {
	var gone []stconfig.Value
	d.pendingDevices = slices.DeleteFunc(d.pendingDevices, func(p pendingDevice) bool {
		if !drop(p) {
			return false
		}
		gone = append(gone, entry("deviceID", string(p.id)))
		return true
	})
	d.tellPending("PendingDevicesChanged", "removed", gone...)
}

func (d *Daemon) dropFolders(drop func(pendingFolder) bool) {
	var gone []stconfig.Value
	d.pendingFolders = slices.DeleteFunc(d.pendingFolders, func(p pendingFolder) bool {
		if !drop(p) {
			return false
		}
		gone = append(gone, entry("deviceID", string(p.from), "folderID", p.id))
		return true
	})
	d.tellPending("PendingFoldersChanged", "removed", gone...)
}

func (e *endpoint) getPendingDevices(w http.ResponseWriter, r *http.Request, _ string) {
	e.daemon.mu.Lock()
	says := map[string]any{}
	for _, p := range e.daemon.pendingDevices {
		says[string(p.id)] = map[string]any{"time": p.time.UTC(), "name": p.name, "address": p.address}
	}
	e.daemon.mu.Unlock()
	e.sendJSON(w, r, says)
}

func (e *endpoint) getPendingFolders(w http.ResponseWriter, r *http.Request, _ string) {
	from, err := parseDeviceID(query(r).Get("device"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	type offers struct {
		OfferedBy map[string]any `json:"offeredBy"`
	}
	says := map[string]offers{}
	e.daemon.mu.Lock()
	for _, p := range e.daemon.pendingFolders {
		if from != "" && p.from != from {
			continue
		}
		if _, there := says[p.id]; !there {
			says[p.id] = offers{map[string]any{}}
		}
		says[p.id].OfferedBy[string(p.from)] = map[string]any{
			"time": p.time.UTC(), "label": p.label, "receiveEncrypted": false, "remoteEncrypted": false,
		}
	}
	e.daemon.mu.Unlock()
	e.sendJSON(w, r, says)
}

func (e *endpoint) deletePendingDevice(w http.ResponseWriter, r *http.Request, _ string) {
	id, err := parseDeviceID(query(r).Get("device"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	e.daemon.mu.Lock()
	defer e.daemon.mu.Unlock()
	e.daemon.dropDevices(func(p pendingDevice) bool { return p.id == id })
}

// deletePendingFolder without a device drops the folder of all devices that offered it.
func (e *endpoint) deletePendingFolder(w http.ResponseWriter, r *http.Request, _ string) {
	from, err := parseDeviceID(query(r).Get("device"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	id := query(r).Get("folder")
	e.daemon.mu.Lock()
	defer e.daemon.mu.Unlock()
	e.daemon.dropFolders(func(p pendingFolder) bool { return p.id == id && (from == "" || p.from == from) })
}
