package revocation

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"muster/internal/fleet"
)

// State says what is proven about a revoked device at one managed daemon.
type State string

// The states of a row.
const (
	There    State = "there"    // The newest configuration has the device.
	Unproven State = "unproven" // It was not read since the revocation, or the device is still connected.
	Gone     State = "gone"     // The device is proven to be gone.
)

// Row is what a certificate says of one managed daemon.
type Row struct {
	Device fleet.DeviceID
	State  State
	Reason string // why the device is not proven to be gone; "" in the state Gone
	Proof  fleet.RevocationProof
}

// Unmanaged is a device that managed daemons have in their configuration and that Muster does not manage.
type Unmanaged struct {
	Device  fleet.DeviceID
	KnownBy int // managed devices that have it in their configuration
}

// MaxUnmanaged is how many unmanaged devices a certificate names.
const MaxUnmanaged = 200

// Certificate says of each managed daemon that the caller sees whether a revoked device is proven to be gone from it.
type Certificate struct {
	Revocation fleet.Revocation
	At         time.Time
	Rows       []Row // The order has no meaning.
	Gone       int
	// Since is the time at which the last row was proven. It is zero while Gone is less than the number of Rows.
	Since     time.Time
	Unmanaged []Unmanaged      // Ordered by device ID. There are at most MaxUnmanaged.
	More      int              // unmanaged devices that are not named
	Revoked   []fleet.DeviceID // other revoked devices, whose daemons are not counted
	Knew      Knew
}

// Certificate returns the certificate of a revocation. inside reports whether the caller sees a device.
func (p *Prover) Certificate(ctx context.Context, registry *fleet.Registry, revocation fleet.Revocation,
	inside func(fleet.DeviceID) bool) (Certificate, error) {
	p.absorb()
	proofs, err := p.o.Proofs.RevocationProofs(ctx, revocation.Device)
	if err != nil {
		return Certificate{}, err
	}
	byDevice := make(map[fleet.DeviceID]fleet.RevocationProof, len(proofs))
	for _, proof := range proofs {
		byDevice[proof.Device] = proof
	}
	c := Certificate{Revocation: revocation, At: time.Now()}
	known := map[fleet.DeviceID]int{}
	for id := range registry.Devices {
		snapshot := p.o.Daemons.Snapshot(id)
		switch {
		case !inside(id):
			continue
		case id == revocation.Device:
		case registry.IsRevoked(id):
			c.Revoked = append(c.Revoked, id)
		default:
			c.add(p.row(registry, revocation.Device, id, snapshot, byDevice[id]))
		}
		if snapshot != nil {
			for peer := range snapshot.ConfiguredPeers.All() {
				known[peer]++
			}
		}
	}
	slices.Sort(c.Revoked)
	c.nameUnmanaged(registry, known)
	if c.Gone < len(c.Rows) {
		c.Since = time.Time{}
	}
	c.Knew, err = p.knew(ctx, registry, revocation.Device, inside)
	return c, err
}

func (c *Certificate) add(row Row) {
	c.Rows = append(c.Rows, row)
	if row.State != Gone {
		return
	}
	if c.Gone++; row.Proof.ConnectionsAt.After(c.Since) {
		c.Since = row.Proof.ConnectionsAt
	}
}

func (p *Prover) row(registry *fleet.Registry, revoked, id fleet.DeviceID, snapshot *fleet.Snapshot,
	proof fleet.RevocationProof) Row {
	p.mu.Lock()
	returnedAt, returned := p.returnOf(proof, snapshot)
	p.mu.Unlock()
	if returned { // The store will say so in a moment.
		proof = proof.Returned(returnedAt)
	}
	row := Row{Device: id, State: Unproven, Proof: proof}
	has := has(snapshot, revoked)
	mode := registry.ModeOf(id)
	switch {
	case has && (mode == fleet.ModeObserve || mode == fleet.ModePaused):
		row.State, row.Reason = There, "Muster writes nothing to it: its mode is "+string(mode)
	case has && !snapshot.Answers():
		row.State, row.Reason = There, "it had the device when it was last read, and "+offline(snapshot)
	case has:
		row.State, row.Reason = There, "the device is being removed"
	case proof.Proven():
		row.State = Gone
	case mode == fleet.ModePaused:
		row.Reason = "it is not watched, in mode paused"
	case snapshot == nil || !snapshot.Answers():
		row.Reason = "it was not read since the revocation: " + offline(snapshot)
		if proof.Returns > 0 {
			row.Reason = "it had the device again, and was not read since: " + offline(snapshot)
		}
	case returned:
		row.Reason = "it had the device again, and is read anew"
	default:
		row.Reason = cmp.Or(p.reason(id), "it is being read")
	}
	return row
}

func offline(snapshot *fleet.Snapshot) string {
	switch {
	case snapshot == nil:
		return "it is not watched"
	case snapshot.LastSeen.IsZero():
		return "it was never reached"
	}
	return "it was last reached on " + snapshot.LastSeen.UTC().Format("2006-01-02 at 15:04 UTC")
}

// reason is why the last reading of a daemon proved nothing; "" without such a reading.
func (p *Prover) reason(id fleet.DeviceID) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.attempts[id].reason
}

// ByLabel returns the rows, by label.
func (c Certificate) ByLabel(registry *fleet.Registry) []Row {
	return slices.SortedFunc(slices.Values(c.Rows), func(a, b Row) int {
		return fleet.CompareDevices(registry.Devices[a.Device].Device, registry.Devices[b.Device].Device)
	})
}

func (c *Certificate) nameUnmanaged(registry *fleet.Registry, known map[fleet.DeviceID]int) {
	for _, id := range slices.Sorted(maps.Keys(known)) {
		switch {
		case registry.Devices[id] != nil || registry.IsRevoked(id):
		case len(c.Unmanaged) == MaxUnmanaged:
			c.More++
		default:
			c.Unmanaged = append(c.Unmanaged, Unmanaged{Device: id, KnownBy: known[id]})
		}
	}
}
