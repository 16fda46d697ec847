package prover

import (
	"context"
	"slices"

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
// not be asked about has the state NotAsked, and a reason. The error is that of the context. Questions of this kind are
// answered one after the other, so that a turn for the copies of a single folder stays free.
func (p *Prover) AtRisk(ctx context.Context, device fleet.DeviceID, folders []Shared) ([]Risk, error) {
	if err := take(ctx, p.questions); err != nil {
		return nil, err
	}
	defer func() { <-p.questions }()
	risks := make([]Risk, len(folders))
	// Rounds add to the rest of a daemon, so this is decided for all folders before the first of them.
	resting := make([]bool, len(folders))
	for i, shared := range folders {
		resting[i] = p.resting(shared.Devices) > 0
	}
	for i, shared := range folders {
		risks[i] = Risk{Folder: shared.Folder, Bytes: p.size(device, shared.Folder)}
		if i >= MaxFolders {
			risks[i].State, risks[i].Reason = NotAsked, "too many folders are asked about at once: ask for its copies"
			continue
		}
		risks[i].Elsewhere = p.elsewhere(ctx, device, shared, resting[i])
	}
	return risks, ctx.Err()
}

func (p *Prover) elsewhere(ctx context.Context, device fleet.DeviceID, shared Shared, resting bool) Elsewhere {
	report, err := p.copies(ctx, shared.Folder, shared.Devices, question{resting: resting})
	if err != nil {
		return Elsewhere{State: NotAsked, Reason: fleet.Reason(err)}
	}
	at := slices.IndexFunc(report.Copies, func(c Copy) bool { return c.Device == device })
	if at < 0 {
		return Elsewhere{State: NotAsked, Reason: "the device does not have the folder any more"}
	}
	return report.Copies[at].Elsewhere
}

func (p *Prover) size(device fleet.DeviceID, folder string) int64 {
	if snapshot := p.o.Snapshot(device); snapshot != nil {
		return snapshot.Summaries[folder].LocalBytes
	}
	return 0
}
