package prover

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"muster/internal/fleet"
)

// MaxFolders is how many folders of a device AtRisk asks about.
const MaxFolders = 50

// Shared is a folder with the devices that have it.
type Shared struct {
	Folder  string
	Devices []fleet.DeviceID
}

// Risk is what is proven elsewhere of a device's data in one folder.
type Risk struct {
	Folder string
	Bytes  int64 // size of the files that the device has, as last read
	Elsewhere
}

// AtRisk says of each folder of a device how much of its data is proven to be on another device. A folder that could
// not be asked about is unproven, and has a reason. The error is that of the context.
func (p *Prover) AtRisk(ctx context.Context, device fleet.DeviceID, folders []Shared) ([]Risk, error) {
	risks := make([]Risk, len(folders))
	var rounds errgroup.Group
	rounds.SetLimit(roundsMost)
	for i, shared := range folders {
		risks[i] = Risk{Folder: shared.Folder, Bytes: p.size(device, shared.Folder)}
		if i >= MaxFolders {
			risks[i].State, risks[i].Reason = Unproven, "too many folders are asked about at once: look at its copies by itself"
			continue
		}
		rounds.Go(func() error {
			risks[i].Elsewhere = p.elsewhere(ctx, device, shared)
			return nil
		})
	}
	_ = rounds.Wait() // What failed is in the risks.
	return risks, ctx.Err()
}

func (p *Prover) elsewhere(ctx context.Context, device fleet.DeviceID, shared Shared) Elsewhere {
	report, err := p.Copies(ctx, shared.Folder, shared.Devices)
	if err != nil {
		return Elsewhere{State: Unproven, Reason: fleet.Reason(err)}
	}
	at := slices.IndexFunc(report.Copies, func(c Copy) bool { return c.Device == device })
	if at < 0 {
		return Elsewhere{State: Unproven, Reason: "the device does not have the folder any more"}
	}
	return report.Copies[at].Elsewhere
}

func (p *Prover) size(device fleet.DeviceID, folder string) int64 {
	if snapshot := p.o.Snapshot(device); snapshot != nil {
		return snapshot.Summaries[folder].LocalBytes
	}
	return 0
}
