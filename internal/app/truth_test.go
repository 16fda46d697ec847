// The histories of daemons in TestWhatIsShownOfFoldersIsTrue are other ones in each soak.
//
//muster:test -skip=HoldsNothing|AreShown|ThatLied|Damaged -rapid.checks=5 -rapid.seed=1
//muster:test -race=false -run=IsTrue|HoldsNothing|AreShown|ThatLied|Damaged -rapid.checks=50 -rapid.seed=1
//muster:soak -rapid.checks=1000
//muster:soak -race=false -rapid.checks=20000
package app

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"muster/api"
	"muster/internal/fleet"
	"muster/internal/stsim"
)

// Times in which Muster has to show what happened, and what is then no longer left to chance.
const (
	silentTime = 80 * time.Second // until a daemon that stands still is missed
	readTime   = 3 * time.Minute  // until everything was read again
	longTime   = 35 * time.Minute // until what stands is trouble, and nothing changes by time alone
)

// TestWhatIsShownOfFoldersIsTrue lets daemons, people and Muster do what they may, and compares each answer of the API
// and of the command line with how the daemons are. They never show a folder as better than it is. After a few minutes
// they show each folder as it is. Trouble that lasts waits for a person, and does so no more when it is over.
func TestWhatIsShownOfFoldersIsTrue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		version := rapid.SampledFrom([][]stsim.Version{{stsim.V2}, {stsim.V1}, {stsim.V1, stsim.V2}}).Draw(rt, "versions")
		history := rapid.SliceOfN(rapid.Custom(drawAct), 1, 14).Draw(rt, "history")
		var receiver *listener
		if rapid.Bool().Draw(rt, "somebody is told") {
			receiver = &listener{open: map[string]fleet.ProblemKey{}}
		}
		if wrong := tell(t, version, history, receiver); wrong != "" {
			rt.Fatal(wrong)
		}
	})
}

// The folders of a daemon that was not believed once stayed unknown until somebody looked at them.
func TestFoldersOfADaemonThatLiedStayedUnknown(t *testing.T) {
	t.Parallel()
	for _, version := range []stsim.Version{stsim.V1, stsim.V2} {
		if wrong := tell(t, []stsim.Version{version}, []act{
			{Kind: "lies", Wait: readTime}, {Kind: "is healthy", Wait: readTime},
			{Kind: "folder stops", Why: stsim.PathMissing, Wait: longTime}, {Kind: "folder heals", Wait: readTime},
		}, nil); wrong != "" {
			t.Error(wrong)
		}
	}
}

func drawAct(rt *rapid.T) act {
	return act{
		Kind:   rapid.SampledFrom(slices.Sorted(maps.Keys(acts))).Draw(rt, "kind"),
		Daemon: rapid.IntRange(0, truthDaemons-1).Draw(rt, "daemon"),
		Peer:   rapid.IntRange(0, truthDaemons-1).Draw(rt, "peer"),
		Folder: rapid.IntRange(0, truthFolders-1).Draw(rt, "folder"),
		Why: rapid.SampledFrom([]stsim.Problem{stsim.PathMissing, stsim.MarkerMissing, stsim.NoSpace, stsim.NoPermission,
			stsim.OtherProblem}).Draw(rt, "why"),
		Wait: rapid.SampledFrom([]time.Duration{readTime, longTime, 0, time.Second, 6 * time.Second, 25 * time.Second}).
			Draw(rt, "wait"),
		Looks: rapid.Bool().Draw(rt, "looks"), Prints: rapid.SampledFrom([]string{"", "table", "json"}).Draw(rt, "prints"),
	}
}

// tell plays a history, and gives what was wrong; "" where nothing was.
func tell(t *testing.T, versions []stsim.Version, history []act, receiver *listener) (wrong string) {
	home, err := os.MkdirTemp("/dev/shm", "truth")
	if err != nil {
		home = t.TempDir()
	}
	defer os.RemoveAll(home)
	synctest.Test(t, func(*testing.T) {
		defer func() {
			if failed := recover(); failed != nil {
				wrong = fmt.Sprintf("%v\n%s", failed, debug.Stack())
			}
		}()
		farm, err := stsim.New(
			stsim.Options{Count: truthDaemons, Folders: truthFolders, Memory: true, Port: 8384, Quiet: true,
				Versions: versions},
		)
		if err == nil {
			err = farm.Start()
		}
		if err != nil {
			wrong = err.Error()
			return
		}
		defer farm.Close()
		s := &story{home: home, folders: farm.Daemon(0).FolderIDs()}
		for _, d := range farm.Daemons() {
			for _, folder := range s.folders {
				if err := d.HealFolder(folder); err != nil {
					wrong = err.Error()
					return
				}
			}
		}
		if s.watcher, err = startWatcher(home, farm, receiver); err != nil {
			wrong = err.Error()
			return
		}
		defer func() {
			if err := s.end(); err != nil && wrong == "" {
				wrong = err.Error()
			}
		}()
		s.changed = time.Now()
		wrong = s.play(append([]act{{Kind: "nothing", Wait: readTime}}, history...))
	})
	return wrong
}

func (s *story) play(history []act) string {
	for n, a := range history {
		s.blur()
		if err := acts[a.Kind](s, a); err != nil {
			return fmt.Sprintf("act %d, %s: %v", n, a, err)
		}
		s.changed = time.Now()
		later(a.Wait)
		if wrong := s.check(a); len(wrong) > 0 {
			var told strings.Builder
			for i, a := range history[:n+1] {
				fmt.Fprintf(&told, "%d: %s\n", i, a)
			}
			for i := range truthDaemons {
				fmt.Fprintf(&told, "daemon %d is %+v\n", i, s.daemons[i])
			}
			return fmt.Sprintf("after\n%s%s", &told, strings.Join(wrong, "\n"))
		}
	}
	return ""
}

// check compares all answers with how the daemons are, and with each other. The first answers are of a Muster that
// nobody looks at, the second of one at which somebody does.
func (s *story) check(a act) (wrong []string) {
	since := time.Since(s.changed)
	s.count()
	if since >= readTime {
		s.hadTime()
	}
	for looks := range 2 {
		if looks == 1 { // Muster reads again meanwhile: some answers are older than that reading.
			c, err := s.compared("somebody begins to look", since, true)
			if err != nil {
				return append(wrong, err.Error())
			}
			c.compareEachGood()
			wrong = append(wrong, c.wrong...)
		}
		synctest.Wait()
		c, err := s.compared([...]string{"nobody looks", "somebody looks"}[looks], since, looks == 1)
		if err != nil {
			return append(wrong, err.Error())
		}
		c.compare()
		if a.Prints != "" {
			c.comparePrinted(a.Prints == "json", looks == 1)
		}
		wrong = append(wrong, c.wrong...)
		if !a.Looks {
			break
		}
		later(5 * time.Second)
	}
	return wrong
}

func (s *story) compared(look string, since time.Duration, looks bool) (*comparison, error) {
	said, err := s.says(s.folders, looks)
	return &comparison{story: s, said: said, since: since, look: look}, err
}

// comparison is one of all answers with how the daemons are.
type comparison struct {
	*story
	said  said
	since time.Duration // the last change
	look  string
	wrong []string
}

func (c *comparison) failf(format string, args ...any) {
	c.wrong = append(c.wrong, c.look+": "+fmt.Sprintf(format, args...))
}

// compareEachGood fails where one answer shows a folder as better than it is, whatever the others say.
func (c *comparison) compareEachGood() {
	for i, d := range c.farm.Daemons() {
		for f, folder := range c.folders {
			c.compareGood(i, f, c.said.ofDevice[d.ID()][folder].State)
			c.compareGood(i, f, c.said.ofFolder[folder][d.ID()].State)
			if cell, found := c.cell(d.ID(), folder); found {
				c.compareGood(i, f, cell.State)
			}
		}
	}
}

func (c *comparison) compare() {
	c.compareEachGood()
	for i, d := range c.farm.Daemons() {
		for f, folder := range c.folders {
			shown, there := c.said.ofDevice[d.ID()][folder]
			if !there {
				if c.since >= readTime {
					c.failf("daemon %d has no folder %d", i, f)
				}
				continue
			}
			if cell, found := c.cell(d.ID(), folder); found && cell.State != shown.State {
				c.failf("folder %d of daemon %d is %s, in the matrix %s", f, i, shown.State, cell.State)
			}
			if c.since >= readTime {
				c.compareState(i, f, shown)
				c.compareFindings(i, f, shown)
				c.compareHolders(i, f, shown)
			}
			if other := c.said.ofFolder[folder][d.ID()]; other.State != shown.State || other.Trouble != shown.Trouble ||
				other.Last != shown.Last {
				c.failf("of daemon %d and folder %d the device says %+v, the folder %+v", i, f, shown, other)
			}
		}
		c.compareRow(d.ID())
	}
	c.compareTotals()
	c.compareWaiting()
}

var green = []string{"upToDate", "scanning", "syncing"}

// past are the states in which what is known of a folder is about an earlier time.
var past = []fleet.FolderState{fleet.FolderUnknown, fleet.FolderStopped, fleet.FolderPaused, fleet.FolderUnshared,
	fleet.FolderAlone}

// allows tells whether a folder may be shown as up to date, as one that only lacks something, and with figures of now.
func (c *comparison) allows(i, f int) (upToDate, lack, now bool) {
	limit := inTime
	if c.daemons[i].silent {
		limit = silentTime
	}
	if c.since < limit {
		return true, true, true
	}
	upToDate, lack = c.may(i, f)
	now = slices.ContainsFunc(c.states(i, f, false), func(s fleet.FolderState) bool { return !slices.Contains(past, s) })
	return upToDate, lack, now
}

// compareGood fails where a folder is shown as better than it is.
func (c *comparison) compareGood(i, f int, shown string) {
	upToDate, lack, _ := c.allows(i, f)
	if !upToDate && (!lack && slices.Contains(green, shown) || shown == "upToDate") {
		c.failf("folder %d of daemon %d is shown as %s; it is %v", f, i, shown, c.states(i, f, false))
	}
}

func (c *comparison) cell(id fleet.DeviceID, folder string) (api.MatrixCell, bool) {
	for _, row := range c.said.matrix.Folders {
		for _, cell := range row.Cells {
			if row.Folder == folder && c.said.matrix.Devices[cell.Device].DeviceID == string(id) {
				return cell, true
			}
		}
	}
	return api.MatrixCell{}, false
}

// compareState compares what is shown of a folder that Muster had the time to read.
func (c *comparison) compareState(i, f int, shown api.FolderStanding) {
	long := c.since >= longTime
	states := c.states(i, f, long)
	state, err := fleet.ParseFolderState(shown.State)
	if err != nil || !slices.Contains(states, state) {
		c.failf("folder %d of daemon %d is shown as %s: %s; want %v", f, i, shown.State, shown.Reason, states)
	}
	if shown.Reason == "" {
		c.failf("folder %d of daemon %d is %s without a reason", f, i, shown.State)
	}
	if state == fleet.FolderUnknown && !c.daemons[i].lying {
		last := c.lastStates(i, f)
		if was, err := fleet.ParseFolderState(shown.Last); last != nil && (err != nil || !slices.Contains(last, was)) {
			c.failf("folder %d of daemon %d was %q, as last known; want %v", f, i, shown.Last, last)
		}
	} else if shown.Last != "" && state != fleet.FolderUnknown {
		c.failf("folder %d of daemon %d is %s and was %s", f, i, shown.State, shown.Last)
	}
	causes := c.causesOf(i, f)
	if _, byFinding := c.findings(i, f)[fleet.WaitCause(shown.State)]; causes == nil || byFinding {
		return
	}
	if shown.Trouble && !slices.ContainsFunc(causes, func(cause fleet.WaitCause) bool { return cause != "" }) {
		c.failf("folder %d of daemon %d is trouble: %s, %s", f, i, shown.State, shown.Reason)
	}
	if long && !shown.Trouble && !slices.Contains(causes, "") {
		c.failf("folder %d of daemon %d is no trouble: %s, %s; want %v", f, i, shown.State, shown.Reason, causes)
	}
}

// compareRow compares the device in the inventory with its folders.
func (c *comparison) compareRow(id fleet.DeviceID) {
	counts := api.FolderCounts{"all": 0}
	for _, one := range c.said.ofDevice[id] {
		counts["all"]++
		counts[one.State]++
	}
	for _, row := range c.said.inventory.Devices {
		if row.DeviceID != string(id) {
			continue
		}
		if !maps.Equal(row.Folders, counts) {
			c.failf("the inventory has %v of a device with %v", row.Folders, counts)
		}
		for _, state := range c.said.states {
			if state.DeviceID == row.DeviceID && state.Connection != row.Connection {
				c.failf("a device is %s, in the inventory %s", state.Connection, row.Connection)
			}
		}
	}
}

// trouble is one that waits.
type trouble struct {
	cause  string
	device fleet.DeviceID
	folder string
}

// troublesIn are the troubles of folders, and the devices that are away, of what waits for a person.
func troublesIn(waiting api.Waiting) map[trouble]bool {
	all := map[trouble]bool{}
	for _, group := range waiting.Groups {
		if !slices.Contains(fleet.TroubleCauses, fleet.WaitCause(group.Cause)) {
			continue
		}
		for _, one := range group.Devices {
			all[trouble{group.Cause, fleet.DeviceID(one.DeviceID), group.Subject}] = true
		}
	}
	return all
}

// compareWaiting compares what waits for a person with the folders that are in trouble, and with the devices that are
// away.
func (c *comparison) compareWaiting() {
	waits, inOverview := troublesIn(c.said.waiting), map[string]int{}
	for i, d := range c.farm.Daemons() {
		away := waits[trouble{string(fleet.WaitUnreachable), d.ID(), ""}]
		missed := !c.reachable(i) && !c.daemons[i].unwatched
		if away && !missed && c.since >= readTime || !away && missed && c.since >= longTime {
			c.failf("daemon %d waits for being away: %t, want %t", i, away, missed)
		}
		if away {
			inOverview[string(fleet.WaitUnreachable)]++
		}
		for f, folder := range c.folders {
			shown := c.said.ofDevice[d.ID()][folder]
			state, _ := fleet.ParseFolderState(cmp.Or(shown.Last, shown.State))
			for _, cause := range fleet.TroubleCauses {
				if !cause.OfFolder() {
					continue
				}
				got := waits[trouble{string(cause), d.ID(), folder}]
				_, want := finding(shown, cause)
				if want = want || shown.Trouble && troubled[state] == cause; got != want {
					c.failf("folder %d of daemon %d, which is %+v, waits with cause %s: %t, want %t", f, i, shown, cause, got, want)
				}
				if got {
					inOverview[string(cause)]++
				}
			}
		}
	}
	for _, one := range c.said.overview.Trouble {
		if count, ours := inOverview[one.Cause]; ours && count != max(one.Folders, 1) && one.Cause != "unreachable" {
			c.failf("the overview has %d folders with trouble %s, %d wait", one.Folders, one.Cause, count)
		}
		delete(inOverview, one.Cause)
	}
	if len(inOverview) > 0 {
		c.failf("the overview lacks %v", inOverview)
	}
	if c.receiver != nil && c.since >= longTime {
		c.compareTold(waits)
	}
}

// compareTold compares the trouble that waits for long with what the receiver was told. Of a daemon that nobody reaches
// a problem of a folder is not known to be over.
func (c *comparison) compareTold(waits map[trouble]bool) {
	told := c.receiver.told()
	for i, d := range c.farm.Daemons() {
		if c.daemons[i].unwatched {
			continue
		}
		for _, cause := range fleet.TroubleCauses {
			folders := c.folders
			if !cause.OfFolder() {
				folders = []string{""}
			}
			for _, folder := range folders {
				want := waits[trouble{string(cause), d.ID(), folder}]
				got := told[fleet.ProblemKey{Device: d.ID(), Folder: folder, Kind: cause}]
				unclear := folder != "" && (!c.reachable(i) || c.daemons[i].lying)
				if want && !got || got && !want && !unclear {
					c.failf("daemon %d waits with %s, folder %q: %t; the receiver was told of it: %t", i, cause, folder, want, got)
				}
			}
		}
	}
}
