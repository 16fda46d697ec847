package prover

import (
	"fmt"
	"slices"
	"time"

	"muster/internal/fleet"
)

// indexAge is how long it is not looked up again which devices have a folder. A device that has it no longer is no
// copy all the same.
const indexAge = time.Second

// folderIndex has the devices of each folder, sorted.
type folderIndex struct {
	at      time.Time
	devices map[string][]fleet.DeviceID
}

// FolderCopies returns what is known of the copies of a folder. It asks no daemon. Where the registry cannot be read it
// returns nothing.
func (p *Prover) FolderCopies(folder string) fleet.FolderCopies {
	registry := p.o.Registry()
	if registry == nil {
		return fleet.FolderCopies{}
	}
	devices, policies := p.devicesOf(folder, registry), p.o.Policies()
	known := fleet.FolderCopies{Policies: policiesOf(folder, policies, devices, registry)}
	switch {
	case policies == nil:
		known.Unknown = "it is not known which policies of copies there are, because the settings were changed by " +
			"something else than Muster"
	case len(devices) > MaxDevices && len(known.Policies) == 0:
		return known
	case len(devices) > MaxDevices:
		known.Unknown = fmt.Sprintf("the policy %q asks for copies, which cannot be proven: more than %d devices have the "+
			"folder", known.Policies[0], MaxDevices)
	}
	all := p.standings(folder, p.reportOf(folder), devices, registry)
	known.Tags, known.Shares = map[fleet.DeviceID][]fleet.Tag{}, map[fleet.DeviceID][]fleet.DeviceID{}
	for _, s := range all.all {
		if !s.isEncrypted {
			known.Plain = append(known.Plain, s.device)
		}
		if known.Unknown != "" { // Only Plain is asked for then.
			continue
		}
		known.Tags[s.device] = s.tags
		if snapshot := p.o.Snapshot(s.device); snapshot != nil && snapshot.Shares != nil {
			known.Shares[s.device] = slices.Collect(snapshot.Sharers(folder))
		}
	}
	if known.Unknown == "" {
		known.Data = all.data()
	}
	return known
}

// data returns, for each device with data of its own, the devices that are proven to have all of it now.
func (all standings) data() (data []fleet.CopiesOf) {
	for _, s := range all.owners() {
		if s.isEncrypted {
			continue
		}
		of := fleet.CopiesOf{Owner: s.device, On: []fleet.DeviceID{s.device}}
		if s.last.IsRead {
			of.ReadAt = s.last.Asked
		}
		for _, id := range s.kept {
			if other := all.by[id]; s.last.IsRead && !s.isChanged && other != nil && other != s && other.isCopy() {
				of.On = append(of.On, id)
			}
		}
		data = append(data, of)
	}
	return data
}

// policiesOf returns the policies that ask for copies of a folder.
func policiesOf(folder string, policies []fleet.CopyPolicy, devices []fleet.DeviceID, registry *fleet.Registry,
) (meant []fleet.CopyPolicy) {
	for _, policy := range policies {
		isMeant := policy.Folder == folder
		if policy.Tag != "" {
			isMeant = slices.ContainsFunc(devices, func(id fleet.DeviceID) bool {
				return slices.Contains(registry.Devices[id].Tags, policy.Tag)
			})
		}
		if isMeant {
			meant = append(meant, policy)
		}
	}
	return meant
}

// devicesOf returns the registered devices that have a folder, sorted.
func (p *Prover) devicesOf(folder string, registry *fleet.Registry) (devices []fleet.DeviceID) {
	now := p.o.Now()
	p.mu.Lock()
	index := p.index
	p.mu.Unlock()
	if index.devices == nil || now.Sub(index.at) >= indexAge {
		index = folderIndex{now, map[string][]fleet.DeviceID{}}
		for id := range registry.Devices {
			for _, f := range p.foldersOf(id) {
				index.devices[f.Folder] = append(index.devices[f.Folder], id)
			}
		}
		p.mu.Lock()
		p.index = index
		p.mu.Unlock()
	}
	for _, id := range index.devices[folder] {
		if registry.Devices[id] != nil {
			devices = append(devices, id)
		}
	}
	slices.Sort(devices)
	return devices
}
