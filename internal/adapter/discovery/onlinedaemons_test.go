package discovery

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"muster/internal/fleet"
)

// crowd is a fleet of n devices that are online and one, "lost", that is not.
type crowd struct {
	snapshots []*fleet.Snapshot
	registry  fleet.Registry
	now       time.Time
	walked    int
}

func newCrowd(n int) *crowd {
	c := &crowd{registry: fleet.Registry{Devices: map[fleet.DeviceID]*fleet.Registered{}},
		now: time.Unix(1_700_000_000, 0)}
	for i := range n {
		c.add(fleet.DeviceID(fmt.Sprintf("D%04d", i)), fleet.Online)
	}
	return c
}

func (c *crowd) add(id fleet.DeviceID, connection fleet.Connection, tags ...fleet.Tag) *fleet.Snapshot {
	s := &fleet.Snapshot{Device: id, Connection: connection}
	c.snapshots = append(c.snapshots, s)
	c.registry.Devices[id] = &fleet.Registered{Device: fleet.Device{ID: id}, Tags: tags}
	return s
}

func (c *crowd) nearby() *OnlineDaemons {
	return &OnlineDaemons{
		Snapshots: func() []*fleet.Snapshot { c.walked++; return c.snapshots },
		Registry:  func() (*fleet.Registry, error) { return &c.registry, nil }, now: func() time.Time { return c.now },
	}
}

func TestThoseThatShareSomethingAreAskedFirst(t *testing.T) {
	c := newCrowd(500)
	folder := []fleet.FolderLabel{{Folder: "photos"}}
	c.add("lost", fleet.NotFound, "site:lima").Folders = folder
	c.snapshots[321].Folders = folder
	c.registry.Devices["D0123"].Tags = []fleet.Tag{"site:lima"}
	c.registry.Devices["D0124"].Tags = []fleet.Tag{"site:osaka"}
	got := c.nearby().Online("lost")
	if len(got) != mostNamed || got[0] != "D0321" || got[1] != "D0123" || slices.Contains(got, "lost") {
		t.Errorf("got %v", got)
	}
	slices.Sort(got)
	if len(slices.Compact(got)) != mostNamed {
		t.Error("a daemon is named twice")
	}
}

func TestADeviceIsNotAskedAboutItself(t *testing.T) {
	c := newCrowd(3)
	for _, s := range c.snapshots {
		s.Folders = []fleet.FolderLabel{{Folder: "photos"}}
	}
	if got := c.nearby().Online("D0001"); len(got) != 2 || slices.Contains(got, "D0001") {
		t.Errorf("got %v", got)
	}
}

func TestInTimeEverybodyIsAsked(t *testing.T) {
	c := newCrowd(500)
	n, asked := c.nearby(), map[fleet.DeviceID]bool{}
	for range 500/mostNamed + 1 {
		for _, id := range n.Online("lost") {
			asked[id] = true
		}
		c.now = c.now.Add(groupsShift)
	}
	if len(asked) != 500 {
		t.Errorf("%d of 500 daemons were asked", len(asked))
	}
}

func TestTheFleetIsWalkedOnceASecond(t *testing.T) {
	c := newCrowd(100)
	n := c.nearby()
	for range 1000 {
		n.Online("lost")
	}
	if c.walked != 1 {
		t.Errorf("the fleet was walked %d times", c.walked)
	}
	c.snapshots[7].Connection = fleet.Unreachable
	c.now = c.now.Add(groupsLife)
	if got := n.Online("lost"); c.walked != 2 || slices.Contains(got, "D0007") {
		t.Errorf("walked %d times, got %v", c.walked, got)
	}
}

func TestWithoutARegistryThereAreStillNeighbours(t *testing.T) {
	c := newCrowd(2)
	n := c.nearby()
	n.Registry = func() (*fleet.Registry, error) { return nil, errors.New("not readable") }
	if got := n.Online("lost"); len(got) != 2 {
		t.Errorf("got %v", got)
	}
}
