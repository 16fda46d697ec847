package app

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"muster/api"
	"muster/internal/fleet"
	"muster/internal/stsim"
)

// What a command prints is compared with how the daemons are, as the answers of the API are. Tables and texts are read
// as a person reads them, and with -o json as a program does.

// pair is a folder of a daemon.
type pair struct{ daemon, folder int }

// claim is what a command says of some things: how many of them are up to date, and whether what is missing is said to
// be so now. Each thing is made of folders of daemons, and is up to date where all of them are.
type claim struct {
	things   [][]pair
	complete int
	now      bool
}

// compareClaim fails where a command says more than it may.
func (c *comparison) compareClaim(said claim) {
	most := 0
	for _, thing := range said.things {
		complete := true
		for _, one := range thing {
			upToDate, _, now := c.allows(one.daemon, one.folder)
			complete = complete && upToDate
			if said.now && !now {
				c.failf("what is missing of folder %d is said of now, also of daemon %d; it is %v there", one.folder, one.daemon,
					c.states(one.daemon, one.folder, false))
			}
		}
		if complete {
			most++
		}
	}
	if said.complete > most {
		c.failf("%d are up to date; at most %d of %v are", said.complete, most, said.things)
	}
}

// onDaemons is a folder on each daemon, ofDaemon each folder of a daemon.
func onDaemons(folder int) (things [][]pair) {
	for i := range truthDaemons {
		things = append(things, []pair{{i, folder}})
	}
	return things
}

func ofDaemon(i int) (things [][]pair) {
	for f := range truthFolders {
		things = append(things, []pair{{i, f}})
	}
	return things
}

func everyDaemon() (all []int) {
	for i := range truthDaemons {
		all = append(all, i)
	}
	return all
}

// wholeFolders are the folders of the fleet.
func wholeFolders() (things [][]pair) {
	for f := range truthFolders {
		things = append(things, slices.Concat(onDaemons(f)...))
	}
	return things
}

// reader compares what a command printed.
type reader func(out string, code int)

// comparePrinted runs the commands that show how folders stand, for people or for programs. Those that have Muster read
// folders again are run only when somebody looks.
func (c *comparison) comparePrinted(asJSON, looks bool) {
	look := c.look
	run := func(text, program reader, command ...string) {
		read := text
		if asJSON {
			read, command = program, append(command, "-o", "json")
		}
		c.look = look + ", muster " + strings.Join(command, " ")
		out, code := c.typed(command...)
		if strings.Contains(out, "100 %") {
			c.failf("it says 100 %%:\n%s", out)
		}
		read(out, code)
		c.look = look
	}
	run(c.folderListText, c.folderListJSON, "folder", "list")
	run(c.deviceListText, c.deviceListJSON, "device", "list")
	run(c.statusText, c.statusJSON, "status")
	run(c.waitingText, c.waitingJSON, "waiting")
	c.compareAsked(run, looks)
	if !looks {
		return
	}
	for f, folder := range c.folders {
		run(func(out string, _ int) { c.folderGetText(f, out) },
			func(out string, _ int) { c.standingsJSON(decoded[[]api.FolderStanding](c, out), truthDaemons) },
			"folder", "get", folder)
	}
	for i, d := range c.farm.Daemons() {
		run(func(out string, _ int) { c.deviceGetText(i, out) }, c.deviceGetJSON, "device", "get", string(d.ID()))
		run(func(out string, code int) { c.statusOfDeviceText(i, out, code) },
			func(out string, code int) { c.statusOfDeviceJSON(i, out, code) }, "status", string(d.ID()))
	}
}

func decoded[T any](c *comparison, out string) (value T) {
	if err := json.Unmarshal([]byte(out), &value); err != nil {
		c.failf("%v:\n%s", err, out)
	}
	return value
}

// daemonOf is the number of a daemon by its ID, folderOf that of a folder; -1 if it is unknown.
func (c *comparison) daemonOf(id string) int {
	return slices.IndexFunc(c.farm.Daemons(), func(d *stsim.Daemon) bool { return string(d.ID()) == id })
}

func (c *comparison) folderOf(id string) int { return slices.Index(c.folders, id) }

// standingsJSON compares folders of devices, of which there are so many.
func (c *comparison) standingsJSON(all []api.FolderStanding, count int) {
	if c.since >= readTime && len(all) != count {
		c.failf("it has %d folders of devices, want %d", len(all), count)
	}
	for _, one := range all {
		i, f := c.daemonOf(one.DeviceID), c.folderOf(one.Folder)
		if i < 0 || f < 0 {
			c.failf("nobody has %+v", one)
			continue
		}
		c.compareGood(i, f, one.State)
		if want := c.said.ofDevice[fleet.DeviceID(one.DeviceID)][one.Folder]; one.State != want.State ||
			one.Last != want.Last || one.Trouble != want.Trouble {
			c.failf("it has %+v, the API %+v", one, want)
		}
	}
}

func (c *comparison) deviceGetJSON(out string, _ int) {
	device := decoded[struct {
		Folders []struct {
			Standing *api.FolderStanding `json:"standing"`
		} `json:"folders"`
	}](c, out)
	var all []api.FolderStanding
	for _, folder := range device.Folders {
		if folder.Standing != nil {
			all = append(all, *folder.Standing)
		}
	}
	c.standingsJSON(all, truthFolders)
}

func (c *comparison) folderListJSON(out string, _ int) {
	for _, folder := range decoded[[]api.FolderOverview](c, out) {
		c.compareClaim(claim{things: onDaemons(c.folderOf(folder.Folder)), complete: folder.Devices["upToDate"]})
		c.compareFolder(c.folderOf(folder.Folder), folder.State)
	}
}

// compareFolder compares the state of a folder in the fleet with that of the API, which follows from its devices.
func (c *comparison) compareFolder(f int, state string) {
	if want := c.said.inFleet[c.folders[f]].State; state != want {
		c.failf("folder %d is %q, in the API %q", f, state, want)
	}
}

func (c *comparison) deviceListJSON(out string, _ int) {
	devices := decoded[[]api.InventoryDevice](c, out)
	if len(devices) != truthDaemons {
		c.failf("it has %d devices", len(devices))
	}
	for _, d := range devices {
		c.compareClaim(claim{things: ofDaemon(c.daemonOf(d.DeviceID)), complete: d.Folders["upToDate"]})
	}
}

func (c *comparison) statusJSON(out string, code int) {
	status := decoded[struct{ Overview api.Overview }](c, out)
	c.compareClaim(claim{things: wholeFolders(), complete: status.Overview.Folders["upToDate"]})
	devices := map[string]int{}
	for _, one := range status.Overview.Trouble {
		devices[one.Cause] = one.Devices
	}
	c.compareStatus(devices, code)
}

// compareStatus compares on how many devices a status has each cause of trouble, and its exit code.
func (c *comparison) compareStatus(devices map[string]int, code int) {
	want := map[string]int{}
	waits := troublesIn(c.said.waiting)
	for _, d := range c.farm.Daemons() {
		for _, cause := range fleet.TroubleCauses {
			for one := range waits {
				if one.cause == string(cause) && one.device == d.ID() {
					want[one.cause]++
					break
				}
			}
		}
	}
	if !maps.Equal(devices, want) {
		c.failf("it has devices in trouble %v, want %v", devices, want)
	}
	c.compareCode(code, len(want) > 0, everyDaemon())
}

// compareCode fails where a status of daemons ends as if nothing waited and something does, or the other way round.
func (c *comparison) compareCode(code int, trouble bool, daemons []int) {
	well := !trouble
	for _, i := range daemons {
		well = well && c.reachable(i) && !c.daemons[i].lying
	}
	if trouble && code != 3 || well && c.since >= longTime && code != 0 {
		c.failf("it ends with %d; trouble: %t", code, trouble)
	}
}

func (c *comparison) statusOfDeviceJSON(i int, out string, code int) {
	state := decoded[api.DeviceState](c, out)
	if state.Folders != nil && state.Folders.State == fleet.FolderUpToDate.String() {
		c.compareClaim(claim{things: [][]pair{slices.Concat(ofDaemon(i)...)}, complete: 1})
	}
	c.compareCode(code, len(c.troublesOf(i)) > 0, []int{i})
}

// troublesOf are the folders of a daemon that wait for a person.
func (c *comparison) troublesOf(i int) (all []trouble) {
	for one := range troublesIn(c.said.waiting) {
		if one.device == c.farm.Daemon(i).ID() && fleet.WaitCause(one.cause).OfFolder() {
			all = append(all, one)
		}
	}
	return all
}

func (c *comparison) waitingJSON(out string, _ int) {
	if got, want := troublesIn(decoded[api.Waiting](c, out)), troublesIn(c.said.waiting); !maps.Equal(got, want) {
		c.failf("it has %v, want %v", got, want)
	}
}
