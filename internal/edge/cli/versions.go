package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"muster/api"
	"muster/client"
)

type versionsCommand struct {
	connection
	output
	watching
	sorting
	paging
	Tag []string `env:"-" sep:"none" help:"Only devices with this tag; may be repeated: with all of them." placeholder:"TAG"`
}

// versionCount is how many devices run a version of Syncthing.
type versionCount struct {
	Version  string `json:"version"` // "": not known
	Devices  int    `json:"devices"`
	Outdated bool   `json:"outdated"` // devices run a newer release
}

const longestBar = 40 // characters

// Run prints how many devices run each version of Syncthing, the most first.
func (c *versionsCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	all, err := server.Inventory(ctx, client.InventoryQuery{Tags: c.Tag, Limit: 1})
	if err != nil {
		return err
	}
	counts, most := make([]versionCount, 0, len(all.Counts.Versions)), 1
	for version, devices := range all.Counts.Versions {
		isOutdated := slices.Contains(all.Outdated.Versions, version)
		counts, most = append(counts, versionCount{version, devices, isOutdated}), max(most, devices)
	}
	slices.SortFunc(counts, func(a, b versionCount) int {
		return cmp.Or(cmp.Compare(b.Devices, a.Devices), cmp.Compare(a.Version, b.Version))
	})
	err = printSorted(env, c.output, c.sorting, columns[versionCount]{
		titles: []string{"VERSION", "DEVICES", "OUTDATED", ""},
		row: func(v versionCount) []string {
			return []string{cmp.Or(v.Version, "not known"), strconv.Itoa(v.Devices), outdatedWord(v),
				strings.Repeat("#", max(1, v.Devices*longestBar/most))}
		},
		name: func(v versionCount) string { return v.Version },
	}, counts)
	if err != nil || !c.forPeople() {
		return err
	}
	return c.printOutdated(env, all)
}

func outdatedWord(v versionCount) string {
	switch {
	case v.Outdated:
		return "yes"
	case v.Version == "":
		return "-"
	}
	return "no"
}

// printOutdated says how many devices run an older version than the newest, and the command that lists them.
func (c *versionsCommand) printOutdated(env *environment, all api.Inventory) error {
	newest := cmp.Or(all.Outdated.Newest, all.Outdated.NewestCandidate)
	if newest == "" {
		return nil
	}
	text := fmt.Sprintf("No device runs a version older than %s, the newest that devices run.", printable(newest))
	if count := all.Counts.Outdated; count > 0 {
		text = fmt.Sprintf("%s with an older version than %s, the newest that devices run: `muster device list --outdated%s`",
			counted(count, "device"), printable(newest), picking{Tag: c.Tag}.more())
	}
	_, err := fmt.Fprintln(env.Out, text)
	return err
}
