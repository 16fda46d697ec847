package prover

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"muster/internal/fleet"
)

// watched is a folder that has policies.
type watched struct {
	policies []fleet.CopyPolicy
	devices  []fleet.DeviceID // registered devices that have the folder
}

// watched returns the folders that have policies, and notes those that are left out. It goes over the folders of all
// devices twice, however many policies there are.
func (j *judge) watched(policies []fleet.CopyPolicy, registry *fleet.Registry, now *risks) map[string]*watched {
	places := j.policyPlaces(policies, registry)
	folders := slices.Sorted(maps.Keys(places))
	if len(folders) > MaxPolicyFolders {
		now.leftOut, now.last = len(folders)-MaxPolicyFolders, folders[MaxPolicyFolders-1]
		folders = folders[:MaxPolicyFolders]
	}
	all := make(map[string]*watched, len(folders))
	for _, folder := range folders {
		all[folder] = &watched{}
		for _, i := range slices.Sorted(slices.Values(places[folder])) {
			all[folder].policies = append(all[folder].policies, policies[i])
		}
	}
	for id := range registry.Devices {
		for _, folder := range j.foldersOf(id) {
			if w := all[folder.Folder]; w != nil {
				w.devices = append(w.devices, id)
			}
		}
	}
	return all
}

// policyPlaces returns the places in the list of the policies that each folder has.
func (j *judge) policyPlaces(policies []fleet.CopyPolicy, registry *fleet.Registry) map[string][]int {
	places := map[string][]int{}
	add := func(folder string, place int) {
		if !slices.Contains(places[folder], place) {
			places[folder] = append(places[folder], place)
		}
	}
	tagged := map[fleet.Tag][]int{}
	for i, policy := range policies {
		if policy.Tag == "" {
			add(policy.Folder, i)
		} else {
			tagged[policy.Tag] = append(tagged[policy.Tag], i)
		}
	}
	for id, device := range registry.Devices {
		for _, tag := range device.Tags {
			for _, i := range tagged[tag] {
				for _, folder := range j.foldersOf(id) {
					add(folder.Folder, i)
				}
			}
		}
	}
	return places
}

// foldersOf returns the folders of a device's newest configuration.
func (p *Prover) foldersOf(id fleet.DeviceID) []fleet.FolderLabel {
	if snapshot := p.o.Snapshot(id); snapshot != nil {
		return snapshot.Folders
	}
	return nil
}

const maxNamed = 5 // folders that an impairment names

// Impairment says which folders are not judged although they have a policy; nil: all are.
func (p *Prover) Impairment() *fleet.Impairment {
	p.mu.Lock()
	is := p.risks
	p.mu.Unlock()
	var reasons, next []string
	if len(is.unjudged) > 0 {
		reasons = append(reasons, fmt.Sprintf("more than %d devices have %s", MaxDevices, namedFolders(is.unjudged)))
		next = append(
			next,
			fmt.Sprintf("Copies of a folder are proven on at most %d devices. `muster folder get FOLDER` shows "+
				"how it stands on each of them. Share it with fewer, or take it out of the setting copyPolicies.", MaxDevices),
		)
	}
	if is.leftOut > 0 {
		reasons = append(reasons, fmt.Sprintf("%s beyond the %d that policies watch",
			fleet.Counted(is.leftOut, "folder is", "folders are"), MaxPolicyFolders))
		next = append(next, "Name fewer folders, or tags of fewer devices, in the setting copyPolicies.")
	}
	if len(reasons) == 0 {
		return nil
	}
	return &fleet.Impairment{Part: fleet.PartCopies, Next: strings.Join(next, " "),
		Reason: "it is not known whether enough copies are proven: " + strings.Join(reasons, ", and ")}
}

// namedFolders names some of the folders, and counts the rest.
func namedFolders(folders map[string]int) string {
	var names []string
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		names = append(names, fmt.Sprintf("the folder %q", folder))
	}
	if more := len(names) - maxNamed; more > 0 {
		names = append(names[:maxNamed], fleet.Counted(more, "further folder", "further folders"))
	}
	return strings.Join(names, ", ")
}
