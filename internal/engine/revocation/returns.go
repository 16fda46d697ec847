package revocation

import (
	"context"
	"iter"
	"maps"
	"slices"
	"time"

	"muster/internal/fleet"
	"muster/internal/logkey"
)

// absorb takes over which revoked devices were seen since the last call. Their daemons are judged in the next round.
func (p *Prover) absorb() {
	seen := p.o.TakeSeen()
	if len(seen) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for of, at := range seen {
		p.seen[of] = later(p.seen[of], at)
		p.changed[of.Device] = true
	}
	p.rouse()
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// has reports whether the newest configuration of a daemon has a device.
func has(snapshot *fleet.Snapshot, device fleet.DeviceID) bool {
	return snapshot != nil && snapshot.ConfiguredPeers.Has(device)
}

// returnOf reports whether a revoked device was seen on a daemon after the proof that it is gone, and when. The caller
// holds mu.
func (p *Prover) returnOf(proof fleet.RevocationProof, snapshot *fleet.Snapshot) (at time.Time, is bool) {
	if !proof.Proven() {
		return at, false
	}
	if at = p.seen[Pair{proof.Revoked, proof.Device}]; !at.Before(proof.ConfigAt) {
		return at, true
	}
	if has(snapshot, proof.Revoked) {
		return later(snapshot.ConfigAt, proof.ConfigAt), true
	}
	return at, false
}

func (p *Prover) seenSince(of Pair, since time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.seen[of].Before(since)
}

// returns gives the proofs about these devices that have ended, because their daemons had a revoked device again.
func (p *Prover) returns(registry *fleet.Registry, devices []fleet.DeviceID) (ended []fleet.RevocationProof) {
	p.absorb()
	for _, id := range devices {
		if registry.IsRevoked(id) {
			continue
		}
		snapshot := p.o.Daemons.Snapshot(id)
		p.mu.Lock()
		for revoked := range registry.Revocations {
			of := Pair{revoked, id}
			if at, is := p.returnOf(p.proofs[of], snapshot); is {
				ended = append(ended, p.proofs[of].Returned(at))
			}
		}
		p.mu.Unlock()
	}
	return ended
}

// changedMeanwhile returns the devices that changed since the round began. They stay marked for the next round.
func (p *Prover) changedMeanwhile() []fleet.DeviceID {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.changed))
}

// keepLast stores the returns that were seen and are not stored yet, when the server stops: after its start nobody
// knows of them.
func (p *Prover) keepLast(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopping)
	defer cancel()
	registry, err := p.o.Registry(ctx)
	if err == nil {
		err = p.keep(ctx, p.returns(registry, slices.Collect(maps.Keys(registry.Devices))))
	}
	if err != nil {
		p.o.Log.Warn("returns of revoked devices were not kept before the stop", logkey.Err(err))
	}
}

// keep stores proofs, and adopts what the store took. After an error it is not known what the store has, so the proofs
// of all these revocations are loaded again.
func (p *Prover) keep(ctx context.Context, found []fleet.RevocationProof) error {
	byRevoked := map[fleet.DeviceID][]fleet.RevocationProof{}
	for _, proof := range found {
		byRevoked[proof.Revoked] = append(byRevoked[proof.Revoked], proof)
	}
	for _, revoked := range slices.Sorted(maps.Keys(byRevoked)) {
		if err := p.put(ctx, revoked, byRevoked[revoked]); err != nil {
			p.forget(maps.Keys(byRevoked))
			return err
		}
	}
	return nil
}

// put stores proofs about one revoked device. Those that are new keep how often the device returned before.
func (p *Prover) put(ctx context.Context, revoked fleet.DeviceID, proofs []fleet.RevocationProof) error {
	p.mu.Lock()
	for i, proof := range proofs {
		if before := p.proofs[Pair{revoked, proof.Device}]; proof.Proven() {
			proofs[i].Returns, proofs[i].ReturnedAt = before.Returns, before.ReturnedAt
		}
	}
	p.mu.Unlock()
	stored, err := p.o.Proofs.PutRevocationProofs(ctx, revoked, proofs)
	if err != nil {
		return err
	}
	leftOut := map[fleet.DeviceID]bool{}
	for _, proof := range proofs {
		leftOut[proof.Device] = proof.Proven()
	}
	p.mu.Lock()
	for _, proof := range stored {
		delete(leftOut, proof.Device)
		p.proofs[Pair{revoked, proof.Device}] = proof
	}
	p.mu.Unlock()
	for id, isProven := range leftOut {
		if isProven {
			p.setAttempt(id, readTooEarly)
		}
	}
	p.o.Log.Info("it is known of more daemons whether they have a revoked device", logkey.Device, revoked,
		logkey.Count, len(stored))
	return nil
}

// forget has the proofs of revocations loaded from the store again.
func (p *Prover) forget(revoked iter.Seq[fleet.DeviceID]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range revoked {
		delete(p.known, id)
	}
}
