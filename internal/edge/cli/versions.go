package cli

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

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
	Version string `json:"version"` // "": not known
	Devices int    `json:"devices"`
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
		counts, most = append(counts, versionCount{version, devices}), max(most, devices)
	}
	slices.SortFunc(counts, func(a, b versionCount) int {
		return cmp.Or(cmp.Compare(b.Devices, a.Devices), cmp.Compare(a.Version, b.Version))
	})
	return printSorted(env, c.output, c.sorting, columns[versionCount]{
		titles: []string{"VERSION", "DEVICES", ""},
		row: func(v versionCount) []string {
			return []string{cmp.Or(v.Version, "not known"), strconv.Itoa(v.Devices),
				strings.Repeat("#", max(1, v.Devices*longestBar/most))}
		},
		name: func(v versionCount) string { return v.Version },
	}, counts)
}
