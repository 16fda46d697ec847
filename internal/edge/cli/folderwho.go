package cli

import (
	"context"
	"strings"

	"muster/api"
	"muster/client"
	"muster/internal/fleet"
)

type folderWhoCommand struct {
	connection
	output
	watching
	sorting
	paging
	Folder string `arg:"" help:"ID of the folder, or its label where no other folder has that."`
}

// folderMember is a device that has a folder: with whom it shares it, and how the folder stands there.
type folderMember struct {
	api.FolderShare
	Standing *api.FolderStanding `json:"standing"` // null: not known
}

// Run shows who has a folder, who is connected with whom, and who lacks what.
func (c *folderWhoCommand) Run(ctx context.Context, env *environment, server *client.Client) error {
	var err error
	if c.Folder, err = folderNamed(ctx, server, c.Folder); err != nil {
		return err
	}
	shares, err := server.FolderShares(ctx, c.Folder, client.List{})
	if err != nil {
		return err
	}
	standings, err := server.FolderDevices(ctx, c.Folder, client.List{})
	if err != nil {
		return err
	}
	byDevice := map[string]*api.FolderStanding{}
	for i := range standings {
		byDevice[standings[i].DeviceID] = &standings[i]
	}
	label := labels(ctx, server)
	members := make([]folderMember, len(shares))
	for i, share := range shares {
		members[i] = folderMember{share, byDevice[share.DeviceID]}
	}
	return printSorted(env, c.output, c.sorting, columns[folderMember]{
		titles: []string{"DEVICE", "TYPE", "STATE", "LACKS", "HELD BY", "CONNECTED WITH", "NOT CONNECTED WITH", "PATH"},
		row:    func(m folderMember) []string { return m.row(label) },
		name:   func(m folderMember) string { return m.DeviceID },
		figures: map[string]func(folderMember) int64{"lacks": func(m folderMember) int64 {
			if m.Standing == nil {
				return -1
			}
			return m.Standing.NeedBytes
		}},
	}, members)
}

func (m folderMember) row(label func(fleet.DeviceID) string) []string {
	cells := []string{nameOf(m.DeviceID, m.Label), orDash(m.Type), "unknown", "-", "-", "-", "-", orDash(m.Path)}
	if m.Standing != nil {
		cells[2] = standingWords(*m.Standing)
		cells[3] = lackOf(*m.Standing)
		cells[4] = holdersOf(m.Standing.HeldBy, label)
	}
	var with, without []string
	for _, peer := range m.Peers {
		name := nameOf(peer.DeviceID, peer.Label)
		switch {
		case peer.Connected == "yes":
			with = append(with, name)
		case peer.Side == "onlyHere":
			without = append(without, name+" (does not share it)")
		case peer.Connected == "unknown":
			without = append(without, name+" (not known)")
		default:
			without = append(without, name)
		}
	}
	cells[5], cells[6] = peerNames(with), peerNames(without)
	return cells
}

func peerNames(names []string) string {
	if more := len(names) - namedDevices; more > 0 {
		names = append(names[:namedDevices:namedDevices], fleet.NumberText(more)+" more")
	}
	return orDash(strings.Join(names, ", "))
}
