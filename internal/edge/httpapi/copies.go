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
	AtRisk(ctx context.Context, device fleet.DeviceID, folders []prover.Shared) ([]prover.Risk, error)
}

// CopyHandlers show what is proven of the copies of folders.
type CopyHandlers struct {
	*base
	Copies Copies
	Shares Shares
}

func (s CopyHandlers) routes(b *base) []route {
	s.base = b
	return []route{
		{method: http.MethodGet, path: Prefix + "/folders/{folderID}/copies", name: "getFolderCopies",
			summary: "On which devices all data of a folder is proven to be. The daemons are asked, and not again within 3 s, " +
				"or within 5 minutes where everything was proven",
			permission: auth.Read, reply: reflect.TypeFor[api.FolderCopies](), volatile: true, off: s.Copies == nil,
			handle: s.getFolderCopies},
		{method: http.MethodGet, path: Prefix + "/devices/{deviceID}/at-risk", name: "getDeviceAtRisk",
			summary: "What would be lost with a device: in which of its folders its data is not proven to be on another " +
				"device. " +
				"The daemons are asked as for the copies of each folder; of at most 50 folders",
			permission: auth.Read, reply: reflect.TypeFor[api.DeviceAtRisk](), volatile: true, off: s.Copies == nil,
			handle: s.ofDevice(s.getDeviceAtRisk)},
	}
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
	report, err := s.Copies.Copies(r.Context(), folder, deviceIDs(devices))
	if err != nil {
		return reply{}, err
	}
	return show(api.FolderCopies{Folder: folder, ReadAt: api.Time{Time: report.ReadAt}, Copies: report.Proven(),
		Devices: mapped(report.Copies, func(c prover.Copy) api.FolderCopy { return wireCopy(c, registry) }),
		Islands: mapped(report.Islands, func(ids []fleet.DeviceID) api.FolderIsland {
			return api.FolderIsland{Devices: wireIDs(ids)}
		}),
		Cuts: mapped(report.Cuts, func(c [2]fleet.DeviceID) api.MissingLink {
			return api.MissingLink{Between: string(c[0]), And: string(c[1])}
		})})
}

func (s CopyHandlers) getDeviceAtRisk(r *request, device *fleet.Registered) (reply, error) {
	registry, err := s.Registry.Registry(r.Context())
	if err != nil {
		return reply{}, err
	}
	var folders []prover.Shared
	for _, folder := range s.Shares.FoldersOn(device.ID) {
		folders = append(folders, prover.Shared{Folder: folder, Devices: deviceIDs(s.Shares.DevicesWith(registry, folder))})
	}
	risks, err := s.Copies.AtRisk(r.Context(), device.ID, folders)
	if err != nil {
		return reply{}, err
	}
	return show(api.DeviceAtRisk{DeviceID: string(device.ID), Label: device.Label,
		Folders: mapped(risks, wireRisk)})
}

func wireRisk(risk prover.Risk) api.FolderAtRisk {
	return api.FolderAtRisk{Folder: risk.Folder, State: string(risk.State), Until: moment(risk.Until),
		HeldBy: wireIDs(risk.On), Bytes: risk.Bytes, Claimed: risk.Claims, Reason: risk.Reason}
}

func deviceIDs(devices []*fleet.Registered) []fleet.DeviceID {
	ids := make([]fleet.DeviceID, len(devices))
	for i, device := range devices {
		ids[i] = device.ID
	}
	return ids
}

func wireIDs(ids []fleet.DeviceID) []string {
	return mapped(ids, func(id fleet.DeviceID) string { return string(id) })
}

func wireCopy(c prover.Copy, registry *fleet.Registry) api.FolderCopy {
	return api.FolderCopy{DeviceID: string(c.Device), Label: registry.Label(c.Device), State: string(c.State),
		Encrypted: c.Encrypted, Until: moment(c.Until), Doubt: string(c.Doubt), Reason: c.Reason,
		Lacks: wireIDs(c.Lacks)}
}
