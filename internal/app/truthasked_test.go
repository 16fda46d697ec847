package app

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"muster/api"
)

// What the commands print that are asked for one thing: who has a folder, which items failed, which versions run.

// compareAsked runs these commands. run compares what one printed, for people or for programs.
func (c *comparison) compareAsked(run func(text, program reader, command ...string), looks bool) {
	run(c.versionsText, c.versionsJSON, "versions")
	for f, folder := range c.folders {
		run(func(out string, _ int) { c.failedText(f, out) }, func(out string, _ int) { c.failedJSON(f, out) },
			"folder", "failed", folder)
		if looks {
			run(func(out string, _ int) { c.whoText(f, out) }, func(out string, _ int) { c.whoJSON(f, out) },
				"folder", "who", folder)
		}
	}
}

// isRead tells whether Muster had the time to read a daemon that it reaches and believes.
func (c *comparison) isRead(i int) bool {
	return c.since >= readTime && c.reachable(i) && !c.daemons[i].lying
}

func (c *comparison) versionsText(out string, _ int) {
	devices := map[string]int{}
	table := slices.DeleteFunc(linesOf(out), func(line string) bool { // The last line says how many are outdated.
		return strings.Contains(line, ", the newest that devices run")
	})
	for _, row := range rows(table, len(table)-1) {
		number, _, _ := strings.Cut(row["DEVICES"], " ") // the bar, which has no title, comes after it
		devices[row["VERSION"]], _ = strconv.Atoi(number)
	}
	c.compareVersions(devices)
}

func (c *comparison) versionsJSON(out string, _ int) {
	devices := map[string]int{}
	for _, one := range decoded[[]struct {
		Version string
		Devices int
	}](c, out) {
		devices[one.Version] = one.Devices
	}
	c.compareVersions(devices)
}

func (c *comparison) compareVersions(devices map[string]int) {
	want := map[string]int{}
	for _, d := range c.farm.Daemons() {
		want[string(d.Version())]++
	}
	if !maps.Equal(devices, want) {
		c.failf("it has %v, want %v", devices, want)
	}
}

func (c *comparison) failedText(f int, out string) {
	lines := linesOf(out)
	if strings.HasPrefix(lines[0], "No daemon") {
		c.compareFailed(f, nil)
		return
	}
	items := map[int]int{}
	for _, row := range rows(lines, len(lines)-1) {
		items[c.named(row["DEVICE"])]++
		if row["PATH"] == "" || row["WHY"] == "" {
			c.failf("an item has no path or no reason: %v", row)
		}
	}
	c.compareFailed(f, items)
}

func (c *comparison) failedJSON(f int, out string) {
	items := map[int]int{}
	for _, one := range decoded[[]api.FailedItem](c, out) {
		items[c.daemonOf(one.DeviceID)]++
		if one.Path == "" || one.Text == "" {
			c.failf("an item has no path or no reason: %+v", one)
		}
	}
	c.compareFailed(f, items)
}

// compareFailed compares how many items of a folder failed on each daemon. A folder that is stopped or paused may keep
// those that failed before.
func (c *comparison) compareFailed(f int, items map[int]int) {
	if n := items[-1]; n > 0 {
		c.failf("%d items failed on a device that nobody has", n)
	}
	for i := range truthDaemons {
		folder := &c.daemons[i].folders[f]
		got, want := items[i], folder.failed
		if !c.isRead(i) || got == 0 && (folder.paused || folder.problem != "") {
			continue
		}
		if got != want {
			c.failf("%d items of folder %d failed on daemon %d, want %d", got, f, i, want)
		}
	}
}

func (c *comparison) whoText(f int, out string) {
	lines := linesOf(out)
	table := rows(lines, len(lines)-1)
	if c.since >= readTime && len(table) != truthDaemons {
		c.failf("it lacks devices:\n%s", out)
	}
	for _, row := range table {
		i := c.named(row["DEVICE"])
		if i < 0 {
			c.failf("nobody has the row %v", row)
			continue
		}
		c.compareWords(i, f, row["STATE"], row["LACKS"])
		c.compareConnected(i, f, func(j int) (yes, no bool) {
			name := "(" + c.farm.Daemon(j).ID().Short() + ")"
			return strings.Contains(row["CONNECTED WITH"], name), strings.Contains(row["NOT CONNECTED WITH"], name)
		})
	}
}

func (c *comparison) whoJSON(f int, out string) {
	var standings []api.FolderStanding
	for _, one := range decoded[[]struct {
		api.FolderShare
		Standing *api.FolderStanding `json:"standing"`
	}](c, out) {
		if one.Standing != nil {
			standings = append(standings, *one.Standing)
		}
		i := c.daemonOf(one.DeviceID)
		if i < 0 {
			c.failf("nobody has %+v", one)
			continue
		}
		c.compareConnected(i, f, func(j int) (yes, no bool) {
			for _, peer := range one.Peers {
				if peer.DeviceID == string(c.farm.Daemon(j).ID()) {
					return peer.Connected == "yes", peer.Connected != "yes"
				}
			}
			return false, false
		})
	}
	c.standingsJSON(standings, truthDaemons)
}

// compareConnected compares with whom a daemon that shares a folder is said to be connected. said tells that of a
// peer. Of a daemon that is away nobody knows.
func (c *comparison) compareConnected(i, f int, said func(j int) (yes, no bool)) {
	for j := range truthDaemons {
		if i == j {
			continue
		}
		shares := !c.daemons[i].folders[f].unshared
		switch yes, no := said(j); {
		case c.since >= silentTime && yes && !c.reachable(i):
			c.failf("daemon %d, which is away, is said to be connected with daemon %d", i, j)
		case c.isRead(i) && (yes != (shares && c.linked(i, j)) || no != (shares && !c.linked(i, j))):
			c.failf("daemon %d shares folder %d: %t; connected with daemon %d: %t, not connected: %t; want %t", i, f, shares, j,
				yes, no, c.linked(i, j))
		}
	}
}
