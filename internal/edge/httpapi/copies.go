package httpapi

import (
	"context"
	"net/http"
	"reflect"

	"muster/api"
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
	return show(api.FolderCopies{Folder: folder, ReadAt: api.Time{Time: report.ReadAt}, Copies: report.Proven(),
		Devices: mapped(report.Copies, func(c prover.Copy) api.FolderCopy { return wireCopy(c, registry) })})
}

func wireCopy(c prover.Copy, registry *fleet.Registry) api.FolderCopy {
	return api.FolderCopy{DeviceID: string(c.Device), Label: registry.Label(c.Device), State: string(c.State),
		Encrypted: c.Encrypted, Until: moment(c.Until), Doubt: string(c.Doubt), Reason: c.Reason,
		Lacks: mapped(c.Lacks, func(id fleet.DeviceID) string { return string(id) })}
}
