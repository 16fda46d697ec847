package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"reflect"

	"muster/api"
	"muster/internal/core/copies"
	"muster/internal/edge/auth"
	"muster/internal/engine/prover"
	"muster/internal/fleet"
)

// Copies is prover.Prover.
type Copies interface {
	Copies(ctx context.Context, folder string, devices []fleet.DeviceID) (prover.Report, error)
}

// CopyHandlers show what is proven of the copies of folders.
type CopyHandlers struct {
	*base
	Copies Copies
	Shares Shares
}

func (s CopyHandlers) routes(b *base) []route {
	s.base = b
	return []route{{method: http.MethodGet, path: Prefix + "/folders/{folderID}/copies", name: "getFolderCopies",
		summary: "On which devices all data of a folder is proven to be. The daemons are asked, and not again within 3 s, " +
			"or within 5 minutes where everything was proven",
		permission: auth.Read, reply: reflect.TypeFor[api.FolderCopies](), volatile: true, off: s.Copies == nil,
		handle: s.getFolderCopies}}
}

func (s CopyHandlers) getFolderCopies(r *request) (reply, error) {
	folder, err := r.folderID()
	if err != nil {
		return reply{}, err
	}
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	devices := s.Shares.DevicesWith(registry, folder)
	if len(devices) == 0 {
		return reply{}, noFolder(nil)
	}
	ids := make([]fleet.DeviceID, len(devices))
	for i, device := range devices {
		ids[i] = device.ID
	}
	report, err := s.Copies.Copies(r.Context(), folder, ids)
	if err != nil {
		return reply{}, err
	}
	out := api.FolderCopies{Folder: folder, ReadAt: api.Time{Time: report.ReadAt}, Devices: mapped(report.Copies,
		func(c prover.Copy) api.FolderCopy { return wireCopy(c, registry) })}
	for _, c := range report.Copies {
		if c.Current && c.Grade == copies.Proven && !c.Encrypted {
			out.Copies++
		}
	}
	return show(out)
}

func wireCopy(c prover.Copy, registry *fleet.Registry) api.FolderCopy {
	out := api.FolderCopy{DeviceID: string(c.Device), Label: registry.Label(c.Device), State: "unproven",
		Encrypted: c.Encrypted, Lacks: mapped(c.Lacks, func(id fleet.DeviceID) string { return string(id) })}
	if c.Grade != copies.Unproven {
		out.Until = moment(c.Until)
	}
	switch {
	case c.Current && c.Grade == copies.Proven:
		out.State = "proven"
		return out
	case c.Current:
		out.State, out.Reason = "agrees", "ignore patterns leave out what cannot be compared"
		return out
	case out.Until != nil:
		out.State = "behind"
	}
	if c.Reason == "" {
		out.Doubt = string(c.Doubt)
	}
	out.Reason = cmp.Or(c.Reason, doubts[c.Doubt], "another device is between them and could not be asked")
	return out
}

// doubts are why nothing is proven, for a person.
var doubts = map[copies.Doubt]string{
	copies.NotInTime:      "the daemons answered too late",
	copies.Restarted:      "a daemon was started, or its database made anew, meanwhile",
	copies.NotIdle:        "a daemon scans, syncs or has stopped the folder",
	copies.Lacks:          "a daemon lacks items, or could not sync some",
	copies.LocalChanges:   "items of a receive-only folder were changed on their device",
	copies.IndexesDiffer:  "two daemons have not heard everything of each other",
	copies.PeerSaysLacks:  "another daemon says that it lacks items",
	copies.PeerNotValid:   "another daemon does not exchange the folder with it",
	copies.DiffersFromAll: "it has other items than the newest that it knows of",
}
