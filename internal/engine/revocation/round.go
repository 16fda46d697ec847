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
	if err := p.judgeInTurn(ctx, registry, devices); err != nil {
		p.judgeAll()
		return 0, err
	}
	return p.nextAttempt(time.Now()), nil
}

// judgeInTurn judges the devices, some at a time. Returns of revoked devices are stored before daemons are read, which
// may take minutes: until then, a server that is killed forgets them.
func (p *Prover) judgeInTurn(ctx context.Context, registry *fleet.Registry, devices []fleet.DeviceID) error {
	if err := p.keep(ctx, p.returns(registry, devices)); err != nil {
		return err
	}
	for some := range slices.Chunk(devices, batch) {
		found, err := p.judge(ctx, registry, some)
		if err != nil {
			return err
		}
		if err := p.keep(ctx, append(p.returns(registry, p.changedMeanwhile()), found...)); err != nil {
			return err
		}
	}
	return nil
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
	p.revoking = len(registry.Revocations) > 0
	p.mu.Unlock()
	loaded := map[Pair]fleet.RevocationProof{}
	for id, revocation := range registry.Revocations {
		if since, is := known[id]; is && since.Equal(revocation.At) {
			continue
		}
		proofs, err := p.o.Proofs.RevocationProofs(ctx, id)
		if err != nil {
			return nil, err
		}
		for _, proof := range proofs {
			loaded[Pair{id, proof.Device}] = proof
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

// adopt puts the loaded proofs into p.proofs, and removes those of other revocations and of devices that were deleted,
// also if they were registered again. The caller holds mu.
func (p *Prover) adopt(registry *fleet.Registry, loaded map[Pair]fleet.RevocationProof) {
	isOther := func(id fleet.DeviceID, created time.Time) bool {
		device := registry.Devices[id]
		return device == nil || !created.Equal(device.CreatedAt)
	}
	isOver := func(of Pair) bool {
		revocation, is := registry.Revocations[of.Revoked]
		return !is || !p.known[of.Revoked].Equal(revocation.At) || isOther(of.Device, p.created[of.Device])
	}
	maps.DeleteFunc(p.proofs, func(of Pair, _ fleet.RevocationProof) bool { return isOver(of) })
	maps.DeleteFunc(p.seen, func(of Pair, _ time.Time) bool {
		return registry.Devices[of.Device] == nil || !registry.IsRevoked(of.Revoked)
	})
	maps.DeleteFunc(p.created, isOther)
	for of, proof := range loaded {
		if device := registry.Devices[of.Device]; device != nil {
			p.proofs[of], p.created[of.Device] = proof, device.CreatedAt
		}
	}
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
			if _, is := p.created[id]; !is {
				p.created[id] = registry.Devices[id].CreatedAt
			}
		}
	}
	slices.Sort(devices)
	return devices
}

// judge returns the proofs that are new.
func (p *Prover) judge(ctx context.Context, registry *fleet.Registry, devices []fleet.DeviceID) (
	[]fleet.RevocationProof, error) {
	found := make([][]fleet.RevocationProof, len(devices))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(readsMost)
	for i, id := range devices {
		group.Go(func() error {
			found[i] = p.judgeDevice(ctx, registry, id)
			return ctx.Err()
		})
	}
	err := group.Wait()
	return slices.Concat(found...), err
}

func (p *Prover) judgeDevice(ctx context.Context, registry *fleet.Registry, id fleet.DeviceID) []fleet.RevocationProof {
	snapshot := p.o.Daemons.Snapshot(id)
	open := p.open(registry, id, snapshot)
	if len(open) == 0 || snapshot == nil || !snapshot.Answers() || registry.ModeOf(id) == fleet.ModePaused {
		p.setAttempt(id, "") // A change of the snapshot or of the mode has the device judged again.
		return nil
	}
	proven, reason := p.read(ctx, id, open, registry.Revocations)
	p.setAttempt(id, reason)
	return proven
}

// open returns the revoked devices about which a daemon is to be read: nothing is proven about them, and the newest
// configuration does not have them.
func (p *Prover) open(registry *fleet.Registry, id fleet.DeviceID, snapshot *fleet.Snapshot) map[fleet.DeviceID]string {
	open := map[fleet.DeviceID]string{}
	p.mu.Lock()
	defer p.mu.Unlock()
	for revoked, revocation := range registry.Revocations {
		if !p.proofs[Pair{revoked, id}].Proven() && !has(snapshot, revoked) {
			open[revoked] = revocation.Since()
		}
	}
	return open
}

// read reads the configuration of a daemon and then its connections, and returns what that proves. reason is for
// people, and blank if everything is proven.
func (p *Prover) read(ctx context.Context, id fleet.DeviceID, open map[fleet.DeviceID]string,
	revocations map[fleet.DeviceID]fleet.Revocation) (proven []fleet.RevocationProof, reason string) {
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
	p.absorb()
	if err != nil {
		return nil, "its connections were not read: " + fleet.Reason(err)
	}
	if s := p.o.Daemons.Snapshot(id); s == nil || s.ConfiguredPeers == (fleet.Peers{}) {
		return nil, "its configuration has more devices than Muster follows"
	}
	_, taken := desired.WithoutAway(doc, open)
	there := map[string]bool{}
	for _, key := range taken {
		there[key.At(key.Len()-1).Name] = true
	}
	for _, revoked := range slices.Sorted(maps.Keys(open)) {
		switch {
		case there[string(revoked)]:
			reason = "its configuration has the device"
		case configAt.Round(0).Before(revocations[revoked].At): // Round leaves the time of the wall clock.
			reason = readTooEarly
		case connected.Has(revoked):
			reason = "its configuration does not have the device, and it is still connected to it"
		case p.seenSince(Pair{revoked, id}, configAt):
			reason = "its configuration had the device again meanwhile"
		default:
			proven = append(proven, fleet.RevocationProof{Revoked: revoked, Device: id, ConfigAt: configAt,
				Digest: config.Digest, ConnectionsAt: connectionsAt})
		}
	}
	return proven, reason
}

// readTooEarly is a reason. The clock was set back.
const readTooEarly = "by the server's clock, the device is revoked only later"

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
