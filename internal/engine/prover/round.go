package prover

import (
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"muster/internal/core/copies"
	"muster/internal/fleet"
)

// round is one round of proofs of a folder.
type round struct {
	*Prover
	folder string
	ledger *copies.Ledger
	began  time.Time

	patient bool // Nobody waits for the round.

	sides map[fleet.DeviceID]*side
}

// side is a device in a round.
type side struct {
	encrypted bool
	isAlone   bool             // No proof is possible, because no device that can be asked is connected.
	peers     []fleet.DeviceID // devices of the proofs in which it takes part
	last      copies.Reading   // zero: it was not read
	reason    string           // why it could not be asked
	doubt     copies.Doubt
	claims    *int64 // bytes that one peer lacks by the word of this daemon: the fewest of all peers; nil: not asked
}

// run makes the round. What cannot be asked or is not over in time has a reason in the report.
func (r *round) run(ctx context.Context, devices []fleet.DeviceID) Report {
	r.began = r.o.Now()
	for _, id := range devices {
		r.sides[id] = r.sideOf(id)
	}
	r.ledger.Begin(r.began)
	steps := r.steps(devices)
	r.readAll(ctx, devices)
	r.extend()
	for _, side := range r.sides {
		if side.isAlone && side.reason == "" {
			side.reason = "it is not connected to another device that shares the folder with it"
		}
	}
	if !r.ledger.Covers(steps, r.began) {
		r.ripen(ctx)
		for _, step := range steps {
			r.prove(ctx, step)
		}
	}
	return r.report(devices)
}

// ripen lets time pass between the two readings of a round that nobody waits for, so that what it proves can be
// extended by the next.
func (r *round) ripen(ctx context.Context) {
	if !r.patient {
		return
	}
	timer := time.NewTimer(copies.RipeAfter)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// extend carries on what was proven in an earlier round between devices whose index did not change since. Where that is
// everything, no daemon is asked what another lacks.
func (r *round) extend() {
	readings := map[fleet.DeviceID]copies.Reading{}
	for id, side := range r.sides {
		switch {
		case side.last.Started.IsZero(): // It did not answer, or was not asked.
		case side.reason != "":
			r.ledger.NoteStart(id, side.last.Started)
		default:
			readings[id] = side.last
		}
	}
	r.ledger.Extend(readings)
}

const notOnline = "its daemon is not online"

// sideOf tells whether a device can be asked.
func (r *round) sideOf(id fleet.DeviceID) *side {
	snapshot := r.o.Snapshot(id)
	if snapshot == nil {
		return &side{reason: notOnline}
	}
	share, known := snapshot.Share(r.folder)
	out := &side{encrypted: share.Type == fleet.ReceiveEncrypted}
	switch {
	case !snapshot.Answers():
		out.reason = notOnline
	case !known:
		out.reason = "its configuration was not read"
	case share.Paused:
		out.reason = "the folder is paused"
	}
	return out
}

// steps orders the proofs. An encrypted copy has no data of its own: it is proven last, from one device.
func (r *round) steps(devices []fleet.DeviceID) []copies.Step {
	var plain, encrypted []fleet.DeviceID
	for _, id := range devices {
		switch side := r.sides[id]; {
		case side.reason != "":
		case side.encrypted:
			encrypted = append(encrypted, id)
		default:
			plain = append(plain, id)
		}
	}
	steps := copies.Steps(plain, r.linked)
	for _, to := range encrypted {
		if i := slices.IndexFunc(plain, func(of fleet.DeviceID) bool { return r.linked(of, to) }); i >= 0 {
			steps = append(steps, copies.Step{Of: plain[i], To: to})
		}
	}
	for _, step := range steps {
		of, to := r.sides[step.Of], r.sides[step.To]
		of.peers, to.peers = append(of.peers, step.To), append(to.peers, step.Of)
	}
	for _, id := range slices.Concat(plain, encrypted) {
		r.sides[id].isAlone = len(r.sides[id].peers) == 0
	}
	return steps
}

// linked tells whether two devices share the folder with each other and are connected.
func (r *round) linked(a, b fleet.DeviceID) bool {
	one, other := r.o.Snapshot(a), r.o.Snapshot(b)
	return one != nil && other != nil && one.IsConnected(b) && other.IsConnected(a) && r.shared(a, b)
}

// shared tells whether two devices share the folder with each other.
func (r *round) shared(a, b fleet.DeviceID) bool {
	one, other := r.o.Snapshot(a), r.o.Snapshot(b)
	if one == nil || other == nil {
		return false
	}
	of, _ := one.Share(r.folder)
	with, _ := other.Share(r.folder)
	return of.With.Has(b) && with.With.Has(a)
}

// readAll makes the first readings. A device that is alone is read for policies only: what it has now may be what
// others had when they were read last.
func (r *round) readAll(ctx context.Context, devices []fleet.DeviceID) {
	var reads errgroup.Group
	reads.SetLimit(r.reads)
	for _, id := range devices {
		if side := r.sides[id]; side.reason == "" && (!side.isAlone || r.patient) {
			reads.Go(func() error {
				side.last, side.reason = r.read(ctx, id, side.peers)
				return nil
			})
		}
	}
	_ = reads.Wait() // What failed is in the sides.
}

// prove makes the second readings of a step, and keeps what follows.
func (r *round) prove(ctx context.Context, step copies.Step) {
	of, to := r.sides[step.Of], r.sides[step.To]
	if of.reason != "" || to.reason != "" {
		return
	}
	var says copies.Completion
	var err error
	says.Asked = r.o.Now()
	says.Completion, err = r.o.Daemons.Completion(ctx, step.Of, r.folder, step.To)
	says.Answered = r.o.Now()
	r.rest(step.Of, says.Answered.Sub(says.Asked))
	if err != nil {
		of.reason = fleet.Reason(err)
		return
	}
	if of.claims == nil || says.NeedBytes < *of.claims {
		of.claims = &says.NeedBytes
	}
	a, b := copies.Side{Device: step.Of, First: of.last}, copies.Side{Device: step.To, First: to.last}
	if a.Second = r.readAgain(ctx, step.Of); of.reason != "" {
		return
	}
	if b.Second = r.readAgain(ctx, step.To); to.reason != "" {
		return
	}
	of.last, to.last = a.Second, b.Second
	if doubt := r.ledger.Prove(a, b, says); doubt != "" {
		of.doubt, to.doubt = doubt, doubt
	}
}

// readAgain makes a further reading of a device. A daemon that was started since voids what is proven with it, also
// when it answers nothing else, or the other device of the proof does not answer.
func (r *round) readAgain(ctx context.Context, id fleet.DeviceID) (reading copies.Reading) {
	side := r.sides[id]
	if reading, side.reason = r.read(ctx, id, side.peers); !reading.Started.IsZero() {
		r.ledger.NoteStart(id, reading.Started)
	}
	return reading
}

// read makes one reading. The start of the daemon is asked before and after the numbers of the folder, so that both are
// of one life. Without a reading it returns the reason, and the start as far as it is known.
func (r *round) read(ctx context.Context, id fleet.DeviceID, peers []fleet.DeviceID) (reading copies.Reading,
	reason string) {
	began := r.o.Now()
	defer func() { r.rest(id, r.o.Now().Sub(began)) }()
	before, err := r.o.Daemons.Started(ctx, id)
	if err != nil {
		return reading, fleet.Reason(err)
	}
	reading.Asked, reading.Started, reading.Encrypted = r.o.Now(), before, r.sides[id].encrypted
	if reading.Summary, reading.Heard, err = r.o.Daemons.FolderIndexes(ctx, id, r.folder); err != nil {
		return reading, fleet.Reason(err)
	}
	if reading.Heard == nil {
		reading.Heard = map[fleet.DeviceID]int64{}
		for _, peer := range peers {
			says, err := r.o.Daemons.Completion(ctx, id, r.folder, peer)
			if err != nil {
				return reading, fleet.Reason(err)
			}
			reading.Heard[peer] = says.Sequence
		}
	}
	after, err := r.o.Daemons.Started(ctx, id)
	if err != nil {
		return reading, fleet.Reason(err)
	}
	reading.Answered, reading.Started = r.o.Now(), after
	if !before.Equal(after) {
		return reading, "its daemon was started while it was asked"
	}
	return reading, ""
}

// rest leaves a daemon alone for many times as long as it took to answer.
func (r *round) rest(id fleet.DeviceID, took time.Duration) {
	r.Prover.mu.Lock()
	defer r.Prover.mu.Unlock()
	from := r.began
	if until := r.rests[id]; until.After(from) {
		from = until
	}
	r.rests[id] = from.Add(took * (busyShare - 1))
}
