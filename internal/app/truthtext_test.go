package app

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"muster/api"
	"muster/internal/fleet"
)

// rows are the first rows of a printed table, each cell by its title.
func rows(lines []string, count int) (table []map[string]string) {
	if len(lines) <= count {
		return nil
	}
	columns := title.FindAllStringIndex(lines[0], -1)
	for _, line := range lines[1 : count+1] {
		cells := map[string]string{}
		for n, at := range columns {
			end := len(line)
			if n+1 < len(columns) {
				end = min(end, columns[n+1][0])
			}
			cells[lines[0][at[0]:at[1]]] = strings.TrimSpace(line[min(at[0], end):end])
		}
		table = append(table, cells)
	}
	return table
}

// title is that of a column; two blanks part it from the next.
var title = regexp.MustCompile(`\S+( \S+)*`)

// linesOf are the lines of what a command printed.
func linesOf(out string) []string { return strings.Split(strings.TrimRight(out, "\n"), "\n") }

// stateOf is the state that words begin with, as "local changes", and the one in "(was stopped)"; "" for none.
func stateOf(words string) (state, last string) {
	words, more, _ := strings.Cut(words, " (")
	if was, found := strings.CutPrefix(more, "was "); found {
		last, _, _ = strings.Cut(was, ")")
	}
	return inAPI(words), inAPI(last)
}

// inAPI is the word of the API for words of the command line.
func inAPI(words string) string {
	joined := strings.ReplaceAll(words, " ", "")
	for _, state := range fleet.FolderStates() {
		if strings.EqualFold(state.String(), joined) {
			return state.String()
		}
	}
	for _, cause := range fleet.TroubleCauses {
		if strings.EqualFold(string(cause), joined) {
			return string(cause)
		}
	}
	return ""
}

// isOfNow tells whether words about what is missing are about now.
func isOfNow(lack string) bool {
	return lack != "-" && !strings.HasPrefix(lack, "lacked ") && !strings.Contains(lack, " as last told") &&
		!strings.Contains(lack, "not known ")
}

// compareUnknown fails where the words for what is missing of a folder do not say on how many devices that is unknown.
func (c *comparison) compareUnknown(f int, lack string) {
	unknown := 0
	if said := regexp.MustCompile(`not known on (\d+) devices?$`).FindStringSubmatch(lack); said != nil {
		unknown, _ = strconv.Atoi(said[1])
	}
	if want := c.said.inFleet[c.folders[f]].NeedUnknown; unknown != want {
		c.failf("folder %d lacks %q; want %d devices of which it is not known", f, lack, want)
	}
}

// unnamed is how many of "12, 1 stopped, 3 behind" are in no state that is named: they read as up to date.
func (c *comparison) unnamed(counts string) (count int) {
	for n, part := range strings.Split(counts, ", ") {
		number, words, _ := strings.Cut(part, " ")
		one, err := strconv.Atoi(number)
		if err != nil || n > 0 && inAPI(words) == "" {
			c.failf("%q is no count of folders", counts)
		}
		if n == 0 {
			count = one
		} else {
			count -= one
		}
	}
	return count
}

// named finds the daemon that a text names first.
func (c *comparison) named(text string) int {
	found, first := -1, len(text)
	for i, d := range c.farm.Daemons() {
		if at := strings.Index(text, "("+d.ID().Short()+")"); at >= 0 && at < first {
			found, first = i, at
		}
	}
	return found
}

func (c *comparison) folderListText(out string, _ int) {
	lines := linesOf(out)
	for _, row := range rows(lines, len(c.said.overviews)) {
		f := c.folderOf(row["FOLDER"])
		if f < 0 {
			c.failf("there is no folder %v", row)
			continue
		}
		state, _ := stateOf(row["STATE"])
		c.compareFolder(f, state)
		c.compareClaim(claim{onDaemons(f), c.unnamed(row["DEVICES"]), isOfNow(row["TO GO"])})
		c.compareUnknown(f, row["TO GO"])
	}
	last := lines[len(lines)-1]
	sum := regexp.MustCompile(`^(\d+) folders?(.*)\. Size .*, to go (.*)\.$`).FindStringSubmatch(last)
	if sum == nil {
		c.failf("it has no sum:\n%s", out)
		return
	}
	c.compareClaim(claim{wholeFolders(), c.unnamed(sum[1] + sum[2]), isOfNow(sum[3])})
}

func (c *comparison) deviceListText(out string, _ int) {
	table := rows(linesOf(out), truthDaemons)
	if len(table) != truthDaemons {
		c.failf("it lacks devices:\n%s", out)
	}
	for _, row := range table {
		if i := c.named(row["DEVICE"]); i >= 0 {
			c.compareClaim(claim{ofDaemon(i), c.unnamed(row["FOLDERS"]), isOfNow(row["TO GO"])})
		} else {
			c.failf("nobody has the row %v", row)
		}
	}
}

// compareWords compares the words for a folder of a daemon.
func (c *comparison) compareWords(i, f int, words, lack string) {
	state, last := stateOf(words)
	c.compareGood(i, f, state)
	if shown := c.said.ofDevice[c.farm.Daemon(i).ID()][c.folders[f]]; state != shown.State || last != shown.Last {
		c.failf("folder %d of daemon %d is %q, in the API %s, %s", f, i, words, shown.State, shown.Last)
	}
	if isOfNow(lack) {
		c.compareClaim(claim{things: [][]pair{{{i, f}}}, now: true})
	}
}

var fleetLine = regexp.MustCompile(`^.*\): ([a-z ]+?)(?: since [-0-9: ]+)?\. On devices: (.*)\. Size .*, to go (.*)\.$`)

func (c *comparison) folderGetText(f int, out string) {
	lines := linesOf(out)
	whole := fleetLine.FindStringSubmatch(lines[0])
	if whole == nil {
		c.failf("it begins with %q", lines[0])
		return
	}
	state, _ := stateOf(whole[1])
	c.compareFolder(f, state)
	c.compareClaim(claim{onDaemons(f), c.unnamed(whole[2]), isOfNow(whole[3])})
	c.compareUnknown(f, whole[3])
	all := c.said.ofFolder[c.folders[f]]
	table := rows(lines[1:], len(all))
	if len(table) != len(all) {
		c.failf("it lacks devices:\n%s", out)
	}
	for _, row := range table {
		i := c.named(row["DEVICE"])
		if i < 0 {
			c.failf("nobody has the row %v", row)
			continue
		}
		c.compareWords(i, f, row["STATE"], row["TO GO"])
	}
	for id, shown := range all {
		c.compareReasons(id, shown, lines[min(len(lines), len(table)+2):])
	}
}

// compareReasons fails where lines do not say what is wrong with a folder of a device, and why.
func (c *comparison) compareReasons(id fleet.DeviceID, shown api.FolderStanding, lines []string) {
	reasons := map[string]string{} // by state
	if shown.State != "upToDate" && shown.State != "scanning" {
		reasons[shown.State] = shown.Reason
	}
	for _, found := range shown.Besides {
		reasons[found.Cause] = found.Reason
	}
	for state, reason := range reasons {
		if !slices.ContainsFunc(lines, func(line string) bool {
			before, why, _ := strings.Cut(line, ": ")
			end := strings.LastIndex(before, "), ")
			if end < 0 || !strings.Contains(before, "("+id.Short()+")") {
				return false
			}
			is, _ := stateOf(before[end+len("), "):])
			return is == state && strings.Contains(why, reason)
		}) {
			c.failf("it does not say of %s that it is %s: %s\n%s", id.Short(), state, reason, strings.Join(lines, "\n"))
		}
	}
}

func (c *comparison) deviceGetText(i int, out string) {
	_, section, found := strings.Cut(out, "  Folders:\n")
	all := c.said.ofDevice[c.farm.Daemon(i).ID()]
	if !found && len(all) > 0 {
		c.failf("it has no folders:\n%s", out)
	}
	seen := map[int]bool{}
	for f, folder := range c.folders {
		_, mine, found := strings.Cut("\n"+section, "\n    "+folder+" ")
		if !found {
			continue
		}
		seen[f] = true
		_, mine, _ = strings.Cut(mine, "): ")
		first, rest, _ := strings.Cut(mine, "\n")
		words, _, _ := strings.Cut(first, ":")
		words, _, _ = strings.Cut(words, ", in ")
		lack := "-"
		for line := range strings.Lines(rest) {
			if !strings.HasPrefix(line, "      ") {
				break
			}
			if strings.Contains(line, " to go") && !strings.Contains(line, "besides, ") {
				lack = strings.TrimSpace(line)
			}
		}
		c.compareWords(i, f, words, lack)
		shown := all[folder]
		for _, found := range shown.Besides {
			if !strings.Contains(rest, found.Reason) {
				c.failf("it does not say that folder %d is %s: %s\n%s", f, found.Cause, found.Reason, out)
			}
		}
		if shown.State != "upToDate" && !strings.Contains(first, shown.Reason) {
			c.failf("it does not say why folder %d is %s: %s\n%s", f, shown.State, shown.Reason, out)
		}
	}
	if len(seen) != len(all) {
		c.failf("it has the folders %v:\n%s", seen, out)
	}
}

func (c *comparison) statusText(out string, code int) {
	devices := map[string]int{}
	for _, line := range regexp.MustCompile(`(?m)^([A-Z ]+): (\d+) devices?`).FindAllStringSubmatch(out, -1) {
		devices[inAPI(line[1])], _ = strconv.Atoi(line[2])
	}
	c.compareStatus(devices, code)
	if counts := regexp.MustCompile(`(?m)^  Folders: +(.*)$`).FindStringSubmatch(out); counts != nil {
		c.compareClaim(claim{things: wholeFolders(), complete: c.unnamed(counts[1])})
	} else if len(c.said.overviews) > 0 {
		c.failf("it has no folders:\n%s", out)
	}
}

func (c *comparison) statusOfDeviceText(i int, out string, code int) {
	if strings.Contains(out, "  folders: up to date") {
		c.compareClaim(claim{things: [][]pair{slices.Concat(ofDaemon(i)...)}, complete: 1})
	}
	troubles := c.troublesOf(i)
	c.compareCode(code, len(troubles) > 0, []int{i})
	got, want := map[trouble]bool{}, map[trouble]bool{}
	for _, one := range troubles {
		want[one] = true
	}
	for _, line := range regexp.MustCompile(`(?m)^  folder (\S+): ([a-z ]+)$`).FindAllStringSubmatch(out, -1) {
		state := inAPI(line[2])
		if state == fleet.FolderStopped.String() {
			state = string(fleet.WaitFolderStopped)
		}
		got[trouble{state, c.farm.Daemon(i).ID(), line[1]}] = true
	}
	if !maps.Equal(got, want) {
		c.failf("it has %v, want %v:\n%s", got, want, out)
	}
}

var waitingGroup = regexp.MustCompile(`(?m)^(?:critical|warning|info), (\w+)(?:: (.*))?\n  On \d+ devices? \((.*)\)$`)

func (c *comparison) waitingText(out string, _ int) {
	got, want := map[trouble]bool{}, troublesIn(c.said.waiting)
	for _, group := range waitingGroup.FindAllStringSubmatch(out, -1) {
		for _, d := range c.farm.Daemons() {
			if slices.Contains(fleet.TroubleCauses, fleet.WaitCause(group[1])) &&
				strings.Contains(group[3], "("+d.ID().Short()+")") {
				got[trouble{group[1], d.ID(), group[2]}] = true
			}
		}
	}
	if !maps.Equal(got, want) || strings.Contains(out, "Nothing waits") && len(want) > 0 {
		c.failf("it has %v, want %v:\n%s", got, want, out)
	}
}
