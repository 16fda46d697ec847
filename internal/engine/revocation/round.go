package revocation

import (
	"context"
	"maps"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"muster/internal/core/desired"
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
	"muster/internal/logkey"
)

// round judges the devices that changed, or all of them, and reads the daemons that may prove something. again is the
// time until a daemon is to be read again; 0 means that no daemon is.
func (p *Prover) round(ctx context.Context) (again time.Duration, err error) {
	registry, err := p.o.Registry(ctx)
	if err != nil {
		return 0, err
	}
	devices, err := p.begin(ctx, registry)
	if err != nil || len(registry.Revocations) == 0 {
		return 0, err
	}
	for some := range slices.Chunk(devices, batch) {
		found, err := p.judge(ctx, registry, some)
		if err == nil {
			err = p.keep(ctx, found)
		}
		if err != nil {
			p.judgeAll()
			return 0, err
		}
	}
	return p.nextAttempt(time.Now()), nil
}

// judgeAll has the next round judge all devices.
func (p *Prover) judgeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = true
}

// begin loads the proofs of revocations that are new, forgets those that ended, and returns the devices to judge.
func (p *Prover) begin(ctx context.Context, registry *fleet.Registry) ([]fleet.DeviceID, error) {
	p.mu.Lock()
	known := maps.Clone(p.known)
	p.revoked = slices.Sorted(maps.Keys(registry.Revocations))
	p.mu.Unlock()
	loaded := map[pair]fleet.RevocationProof{}
	for id, revocation := range registry.Revocations {
		if since, is := known[id]; is && since.Equal(revocation.At) {
			continue
		}
		proofs, err := p.o.Proofs.RevocationProofs(ctx, id)
		if err != nil {
			return nil, err
		}
		for _, proof := range proofs {
			loaded[pair{id, proof.Device}] = proof
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all || len(loaded) > 0 {
		p.adopt(registry, loaded)
	}
	devices := p.due(registry)
	clear(p.changed)
	p.all = false
	return devices, nil
}

// adopt puts the loaded proofs into p.proofs, and removes those of other revocations. The caller holds mu.
func (p *Prover) adopt(registry *fleet.Registry, loaded map[pair]fleet.RevocationProof) {
	isOver := func(of pair) bool {
		revocation, is := registry.Revocations[of.revoked]
		return !is || !p.known[of.revoked].Equal(revocation.At) || registry.Devices[of.device] == nil
	}
	maps.DeleteFunc(p.proofs, func(of pair, _ fleet.RevocationProof) bool { return isOver(of) })
	maps.DeleteFunc(p.seen, func(of pair, _ time.Time) bool { return registry.Devices[of.device] == nil })
	maps.Copy(p.proofs, loaded)
	clear(p.known)
	for id, revocation := range registry.Revocations {
		p.known[id] = revocation.At
	}
}

// due returns the devices that the round judges: those that changed, and those that are to be read again. Devices that
// are revoked themselves are left out, because Muster writes nothing to them; they and deleted devices have no next
// attempt. The caller holds mu.
func (p *Prover) due(registry *fleet.Registry) (devices []fleet.DeviceID) {
	maps.DeleteFunc(p.attempts, func(id fleet.DeviceID, _ attempt) bool {
		return registry.Devices[id] == nil || registry.IsRevoked(id)
	})
	now := time.Now()
	for id := range registry.Devices {
		tried, waits := p.attempts[id]
		if (p.all || p.changed[id] || waits && !now.Before(tried.next)) && !registry.IsRevoked(id) {
			devices = append(devices, id)
		}
	}
	slices.Sort(devices)
	return devices
}

// judge returns the proofs that are new, and those that ended because a revoked device is there again.
func (p *Prover) judge(ctx context.Context, registry *fleet.Registry, devices []fleet.DeviceID) (
	found [][]fleet.RevocationProof, err error) {
	found = make([][]fleet.RevocationProof, len(devices))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readsMost)
	for i, id := range devices {
		group.Go(func() error {
			found[i] = p.judgeDevice(ctx, registry, id)
			return ctx.Err()
		})
	}
	return found, group.Wait()
}

func (p *Prover) judgeDevice(ctx context.Context, registry *fleet.Registry, id fleet.DeviceID) []fleet.RevocationProof {
	ended, open := p.standing(registry, id)
	if len(open) == 0 {
		p.setAttempt(id, "")
		return ended
	}
	snapshot := p.o.Daemons.Snapshot(id)
	if snapshot == nil || !snapshot.Answers() || registry.ModeOf(id) == fleet.ModePaused {
		p.setAttempt(id, "") // A change of the snapshot or of the mode has the device judged again.
		return ended
	}
	proven, reason := p.read(ctx, id, open)
	p.setAttempt(id, reason)
	return append(ended, proven...)
}

// standing returns the proofs about a device that have ended, and the revoked devices about which its daemon is to be
// read: nothing is proven about them, and the newest configuration does not have them.
func (p *Prover) standing(registry *fleet.Registry, id fleet.DeviceID) (ended []fleet.RevocationProof,
	open map[fleet.DeviceID]string) {
	snapshot := p.o.Daemons.Snapshot(id)
	open = map[fleet.DeviceID]string{}
	p.mu.Lock()
	defer p.mu.Unlock()
	for revoked := range registry.Revocations {
		of := pair{revoked, id}
		proof, seen := p.proofs[of], p.seen[of]
		has := snapshot != nil && snapshot.ConfiguredPeers.Has(revoked)
		if proof.Proven() && (has || !seen.Before(proof.ConfigAt)) {
			at := seen
			if has {
				at = snapshot.ConfigAt
			}
			proof = proof.Returned(at)
			p.proofs[of] = proof
			ended = append(ended, proof)
		}
		if !proof.Proven() && !has {
			open[revoked] = registry.Revocations[revoked].Since()
		}
	}
	return ended, open
}

// read reads the configuration of a daemon and then its connections, and returns what that proves. reason is for
// people, and blank if everything is proven.
func (p *Prover) read(ctx context.Context, id fleet.DeviceID, open map[fleet.DeviceID]string) (
	proven []fleet.RevocationProof, reason string) {
	// A write that began before the revocation may still bring the device back. A later write does not: reconcile looks
	// for new revocations before each write.
	if p.o.Daemons.Writing(id) {
		return nil, "Muster is writing to the daemon"
	}
	configAt := time.Now()
	config, err := p.o.Daemons.Configuration(ctx, id)
	if err != nil {
		return nil, "its configuration was not read: " + fleet.Reason(err)
	}
	doc, err := stconfig.Parse(config.JSON)
	if err != nil {
		return nil, "its configuration was not understood"
	}
	connectionsAt := time.Now()
	connected, err := p.o.Daemons.ConnectedPeers(ctx, id)
	if err != nil {
		return nil, "its connections were not read: " + fleet.Reason(err)
	}
	if s := p.o.Daemons.Snapshot(id); s == nil || s.ConfiguredPeers == (fleet.Peers{}) {
		return nil, "its configuration has more devices than Muster follows"
	}
	_, taken := desired.WithoutAway(doc, open)
	has := map[string]bool{}
	for _, key := range taken {
		has[key.At(key.Len()-1).Name] = true
	}
	for _, revoked := range slices.Sorted(maps.Keys(open)) {
		switch {
		case has[string(revoked)]:
			reason = "its configuration has the device"
		case connected.Has(revoked):
			reason = "its configuration does not have the device, and it is still connected to it"
		case p.seenSince(pair{revoked, id}, configAt):
			reason = "its configuration had the device again meanwhile"
		default:
			proven = append(proven, fleet.RevocationProof{Revoked: revoked, Device: id, ConfigAt: configAt,
				Digest: config.Digest, ConnectionsAt: connectionsAt})
		}
	}
	return proven, reason
}

func (p *Prover) seenSince(of pair, since time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.seen[of].Before(since)
}

// setAttempt notes that a daemon was read. It is read again if that did not prove everything (reason is not blank).
func (p *Prover) setAttempt(id fleet.DeviceID, reason string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if reason == "" {
		delete(p.attempts, id)
		return
	}
	pause := min(max(2*p.attempts[id].pause, firstPause), mostPause)
	p.attempts[id] = attempt{next: time.Now().Add(pause), pause: pause, reason: reason}
}

// keep stores proofs. Those that are new keep how often the revoked device returned before.
func (p *Prover) keep(ctx context.Context, found [][]fleet.RevocationProof) error {
	byRevoked := map[fleet.DeviceID][]fleet.RevocationProof{}
	for _, proof := range slices.Concat(found...) {
		if before, is := p.proof(pair{proof.Revoked, proof.Device}); is && proof.Proven() {
			proof.Returns, proof.ReturnedAt = before.Returns, before.ReturnedAt
		}
		byRevoked[proof.Revoked] = append(byRevoked[proof.Revoked], proof)
	}
	for _, revoked := range slices.Sorted(maps.Keys(byRevoked)) {
		proofs := byRevoked[revoked]
		if err := p.o.Proofs.PutRevocationProofs(ctx, revoked, proofs); err != nil {
			p.forget(revoked)
			return err
		}
		p.mu.Lock()
		for _, proof := range proofs {
			p.proofs[pair{revoked, proof.Device}] = proof
		}
		p.mu.Unlock()
		p.o.Log.Info("it is known of more daemons whether they have a revoked device", logkey.Device, revoked,
			logkey.Count, len(proofs))
	}
	return nil
}

func (p *Prover) proof(of pair) (fleet.RevocationProof, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	proof, is := p.proofs[of]
	return proof, is
}

// forget has the proofs of a revocation loaded from the store again.
func (p *Prover) forget(revoked fleet.DeviceID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, revoked)
}

// nextAttempt is the time until the first daemon is to be read again; 0 if no daemon is.
func (p *Prover) nextAttempt(now time.Time) (pause time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, tried := range p.attempts {
		left := max(tried.next.Sub(now), time.Millisecond)
		if pause == 0 || left < pause {
			pause = left
		}
	}
	return pause
}
