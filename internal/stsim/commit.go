package stsim

import (
	"errors"
	"slices"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

var errDown = errors.New("the daemon is shutting down")

// modify changes the configuration, saves it and tells about it, as the daemon does: a change that changes nothing is
// saved too, and one that does is saved again later.
func (d *Daemon) modify(p *process, change func(stconfig.Value) (stconfig.Value, error)) error {
	d.mu.Lock()
	if d.process != p {
		d.mu.Unlock()
		return errDown
	}
	from := d.doc
	to, err := change(from)
	if err != nil {
		d.mu.Unlock()
		return err
	}
	changed := !to.Equal(from)
	if changed {
		if to, err = d.commit(p, from, to); err != nil {
			d.mu.Unlock()
			return err
		}
	}
	saved := d.save(p, from)
	d.mu.Unlock()
	if changed {
		d.announce(p, from, to)
	}
	return saved
}

var errDiskFull = errors.New("write config.xml: no space left on device")

// save writes the configuration to the daemon's disk, which has the one from before where that is full. The caller
// holds mu.
func (d *Daemon) save(p *process, before stconfig.Value) error {
	if d.diskFull() {
		if !d.onDisk.Exists() {
			d.onDisk = before
		}
		return errDiskFull
	}
	d.onDisk = stconfig.Value{}
	p.log("ConfigSaved", d.doc)
	return nil
}

// commit takes the new document. The caller holds mu.
func (d *Daemon) commit(p *process, from, to stconfig.Value) (stconfig.Value, error) {
	to, err := d.schema().prepare(to, d.owner())
	if err != nil {
		return from, err
	}
	if err := checkAddress(to.Get("gui").Get("address").Str()); err != nil {
		return from, err
	}
	d.doc = to
	for _, f := range d.schema().at([]string{"options"}).fields {
		if f.restart && !to.Get("options").Get(f.name).Equal(from.Get("options").Get(f.name)) {
			d.requiresRestart = true // for good: setting it back does not help
		}
	}
	if !d.savePending {
		d.savePending = true
		p.after(d.farm.options.Timing.SavedAgain, func() { d.saveAgain(p) })
	}
	wasGUI, isGUI := from.Get("gui"), to.Get("gui")
	if !wasGUI.With("debugging", isGUI.Get("debugging")).Equal(isGUI) {
		d.restartAPILocked()
	}
	return to, nil
}

func (d *Daemon) saveAgain(p *process) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.savePending = false
	if !d.diskFull() {
		_ = d.save(p, d.doc)
	}
}

// announce is what the daemon's parts say about a change that was made.
func (d *Daemon) announce(p *process, from, to stconfig.Value) {
	if listen := to.Get("options").Get("listenAddresses"); !listen.Equal(from.Get("options").Get("listenAddresses")) {
		for address := range listen.Values() {
			p.log("ListenAddressesChanged", stconfig.Obj(
				stconfig.Member{Name: "address", Value: urlValue(address.Str())},
				stconfig.Member{Name: "lan", Value: stconfig.List()}, stconfig.Member{Name: "wan", Value: stconfig.List()}))
		}
	}
	d.changeFolders(p, from.Get("folders"), to.Get("folders"))
	for device := range to.Get("devices").Values() {
		id := device.Get("deviceID").Str()
		was, err := devices.find(from, id)
		if err != nil || was.Get("paused").IsTrue() == device.Get("paused").IsTrue() {
			continue
		}
		name := "DeviceResumed"
		if device.Get("paused").IsTrue() {
			name = "DevicePaused"
		}
		p.log(name, object1("device", stconfig.Text(id)))
	}
	d.forgetPending(p, to)
	d.relinkWith(slices.Concat(idsOf(from), idsOf(to)))
}

// idsOf are the devices of a document.
func idsOf(doc stconfig.Value) []fleet.DeviceID {
	var ids []fleet.DeviceID
	for device := range doc.Get("devices").Values() {
		ids = append(ids, fleet.DeviceID(device.Get("deviceID").Str()))
	}
	return ids
}
