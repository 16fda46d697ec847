package discovery

import (
	"slices"
	"sync"
	"time"

	"muster/internal/fleet"
)

const (
	mostNamed   = 64          // daemons that Online gives for one device
	groupsLife  = time.Second // how long after a walk the fleet is not walked again
	groupsShift = time.Minute // after this time other daemons come first, so that in time every daemon is asked
)

// OnlineDaemons knows which daemons to ask about a device. Thousands of devices without an address ask all the time,
// so the fleet is walked once a second for all of them, and each gets a short list.
type OnlineDaemons struct {
	Snapshots func() []*fleet.Snapshot
	Registry  func() (*fleet.Registry, error)

	now func() time.Time // a clock for tests; nil: the real one

	mu   sync.Mutex // guards what follows
	made *groups
}

// groups are the daemons that are online, by folder and by tag. Each has at most one daemon more than a list may
// have, in case the device itself is among them.
type groups struct {
	at       time.Time
	byTag    map[fleet.Tag][]fleet.DeviceID
	byFolder map[string][]fleet.DeviceID
	others   []fleet.DeviceID
	folders  map[fleet.DeviceID][]fleet.FolderLabel // folders of daemons that are not online, as last known
	devices  map[fleet.DeviceID]*fleet.Registered
}

// Online returns daemons that are online: first those that have a folder of the device, then those that carry one of
// its tags, then any.
func (n *OnlineDaemons) Online(about fleet.DeviceID) []fleet.DeviceID {
	g := n.groups()
	chosen, seen := make([]fleet.DeviceID, 0, mostNamed), map[fleet.DeviceID]bool{about: true}
	take := func(from []fleet.DeviceID) {
		for _, id := range from {
			if len(chosen) < mostNamed && !seen[id] {
				seen[id] = true
				chosen = append(chosen, id)
			}
		}
	}
	for _, f := range g.folders[about] {
		take(g.byFolder[f.Folder])
	}
	if device := g.devices[about]; device != nil {
		for _, tag := range device.Tags {
			take(g.byTag[tag])
		}
	}
	take(g.others)
	return chosen
}

func (n *OnlineDaemons) groups() *groups {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	if n.now != nil {
		now = n.now()
	}
	if n.made == nil || now.Sub(n.made.at) >= groupsLife {
		n.made = n.walk(now)
	}
	return n.made
}

// walk puts the fleet into groups. The same daemons come first for every device, because one answer of a daemon
// serves all devices.
func (n *OnlineDaemons) walk(now time.Time) *groups {
	g := &groups{at: now, byTag: map[fleet.Tag][]fleet.DeviceID{}, byFolder: map[string][]fleet.DeviceID{},
		folders: map[fleet.DeviceID][]fleet.FolderLabel{}}
	if registry, err := n.Registry(); err == nil {
		g.devices = registry.Devices
	}
	var online []*fleet.Snapshot
	for _, s := range n.Snapshots() {
		if s.Answers() {
			online = append(online, s)
		} else if len(s.Folders) > 0 {
			g.folders[s.Device] = s.Folders
		}
	}
	if len(online) == 0 {
		return g
	}
	first := int(now.Unix()/int64(groupsShift/time.Second)*mostNamed) % len(online)
	for _, s := range slices.Concat(online[first:], online[:first]) {
		for _, f := range s.Folders {
			g.byFolder[f.Folder] = bounded(g.byFolder[f.Folder], s.Device)
		}
		if device := g.devices[s.Device]; device != nil {
			for _, tag := range device.Tags {
				g.byTag[tag] = bounded(g.byTag[tag], s.Device)
			}
		}
		g.others = bounded(g.others, s.Device)
	}
	return g
}

func bounded(list []fleet.DeviceID, id fleet.DeviceID) []fleet.DeviceID {
	if len(list) > mostNamed {
		return list
	}
	return append(list, id)
}
