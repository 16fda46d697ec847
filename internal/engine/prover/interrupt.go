package prover

import (
	"maps"
	"slices"

	"muster/internal/fleet"
)

// Interrupts returns, for an order that restarts the daemons of these devices, a folder of which no other device is
// proven to have all data, if a policy asks for copies of it. isBad is false without such a folder. What is not
// known counts as not proven.
func (p *Prover) Interrupts(devices []fleet.DeviceID) (decline fleet.CopyDecline, isBad bool) {
	for _, folder := range p.policyFolders(devices) {
		known := p.FolderCopies(folder)
		for i := range known.Policies { // One proven copy is to be left running.
			known.Policies[i].AtLeast, known.Policies[i].Across = 1, ""
		}
		var losses []fleet.CopyLoss
		for _, id := range devices {
			if slices.Contains(known.Plain, id) {
				losses = append(losses, fleet.CopyLoss{Folder: folder, Device: id})
			}
		}
		if decline, isBad = known.Decline(losses...); isBad {
			return decline, true
		}
	}
	return decline, false
}

// policyFolders returns the folders of these devices that policies ask for copies of, sorted. Where it is not known
// which policies there are, it returns all folders of the devices.
func (p *Prover) policyFolders(devices []fleet.DeviceID) []string {
	registry, policies := p.o.Registry(), p.o.Policies()
	if registry == nil || policies != nil && len(policies) == 0 {
		return nil
	}
	folders := map[string]bool{}
	for _, id := range devices {
		for _, folder := range p.foldersOf(id) {
			if !folders[folder.Folder] {
				has := p.devicesOf(folder.Folder, registry)
				folders[folder.Folder] = policies == nil || len(policiesOf(folder.Folder, policies, has, registry)) > 0
			}
		}
	}
	maps.DeleteFunc(folders, func(_ string, isMeant bool) bool { return !isMeant })
	return slices.Sorted(maps.Keys(folders))
}
