package app

import (
	"context"

	"muster/internal/engine/mirror"
	"muster/internal/engine/revocation"
	"muster/internal/fleet"
)

// newRevocations makes the part that proves that revoked devices are gone.
func (a *App) newRevocations() *revocation.Prover {
	return revocation.New(revocation.Options{Registry: a.store.Registry, Proofs: a.store, Daemons: reread{a.mirror},
		TakeSeen: a.changes.takeSeen, LastConfig: a.store.ObservedConfig, Log: a.log})
}

// reread reads daemons anew over the connections of the mirror.
type reread struct{ mirror *mirror.Mirror }

func (r reread) Snapshot(id fleet.DeviceID) *fleet.Snapshot { return r.mirror.Snapshot(id) }

func (r reread) Writing(id fleet.DeviceID) bool { return r.mirror.Held(id) }

func (r reread) Configuration(ctx context.Context, id fleet.DeviceID) (fleet.ObservedConfig, error) {
	return r.mirror.Reread(ctx, id)
}

func (r reread) ConnectedPeers(ctx context.Context, id fleet.DeviceID) (fleet.Peers, error) {
	daemon, err := r.mirror.Daemon(id)
	if err != nil {
		return fleet.Peers{}, err
	}
	return daemon.ConnectedPeers(ctx)
}
