package revocation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/fleet"
)

// world is a fleet with daemons and a store that live in memory.
type world struct {
	t *testing.T

	mu       sync.Mutex // guards what follows
	registry *fleet.Registry
	daemons  map[fleet.DeviceID]*daemon
	proofs   map[Pair]fleet.RevocationProof
	puts     int
	returns  []Pair                  // the returns that were stored
	failing  bool                    // The store answers with an error.
	refused  map[fleet.DeviceID]bool // The store fails for these revoked devices.
	leftOut  bool                    // The store leaves out what it is given.
	seen     map[Pair]time.Time      // what TakeSeen returns
	reads    int
	rounds   int                       // calls of Registry
	configs  map[fleet.DeviceID]string // LastConfig

	log bytes.Buffer // guarded by the handler's own mutex; read after synctest.Wait
}

type daemon struct {
	peers     []fleet.DeviceID
	connected []fleet.DeviceID
	away      bool
	writing   bool

	during   func() // called once between the reading of the configuration and that of the connections
	configAt time.Time
}

var lost, home, desk = idOf(1), idOf(2), idOf(3)

func idOf(n int) fleet.DeviceID {
	var raw [32]byte
	raw[0] = byte(n)
	return fleet.DeviceIDOf(raw)
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, registry: &fleet.Registry{Devices: map[fleet.DeviceID]*fleet.Registered{}},
		daemons: map[fleet.DeviceID]*daemon{}, proofs: map[Pair]fleet.RevocationProof{},
		configs: map[fleet.DeviceID]string{}, seen: map[Pair]time.Time{}}
	for _, id := range []fleet.DeviceID{lost, home, desk} {
		w.registry.Devices[id] = &fleet.Registered{Device: fleet.Device{ID: id, Label: string(id)[:3],
			APIKey: fleet.NewSecret("key of " + string(id))}}
		w.daemons[id] = &daemon{}
	}
	return w
}

// in runs a test in a bubble, in which waiting takes no time.
func in(t *testing.T, test func(w *world)) {
	synctest.Test(t, func(t *testing.T) { test(newWorld(t)) })
}

func (w *world) Registry(context.Context) (*fleet.Registry, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rounds++
	return w.registry, nil
}

// edit changes a copy of the registry, which takes the place of the registry.
func (w *world) edit(how func(*fleet.Registry)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	next := *w.registry
	next.Devices, next.Revocations = maps.Clone(next.Devices), maps.Clone(next.Revocations)
	if next.Revocations == nil {
		next.Revocations = map[fleet.DeviceID]fleet.Revocation{}
	}
	how(&next)
	w.registry = &next
}

func (w *world) revoke(id fleet.DeviceID) {
	w.edit(func(r *fleet.Registry) {
		r.Revocations[id] = fleet.Revocation{Device: id, Label: "laptop", By: "root", At: time.Now()}
	})
}

func (w *world) readmit(id fleet.DeviceID) {
	w.edit(func(r *fleet.Registry) {
		delete(r.Revocations, id)
		maps.DeleteFunc(w.proofs, func(of Pair, _ fleet.RevocationProof) bool { return of.Revoked == id })
	})
}

func (w *world) Snapshot(id fleet.DeviceID) *fleet.Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.daemons[id]
	s := &fleet.Snapshot{Device: id, Connection: fleet.Online, ConfigAt: d.configAt,
		ConfiguredPeers: fleet.PeersOf(append([]fleet.DeviceID{id}, d.peers...))}
	if d.away {
		s.Connection = fleet.Unreachable
	}
	return s
}

func (w *world) Writing(id fleet.DeviceID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.daemons[id].writing
}

func (w *world) Configuration(_ context.Context, id fleet.DeviceID) (fleet.ObservedConfig, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.daemons[id]
	if w.reads++; d.away {
		return fleet.ObservedConfig{}, errors.New("away")
	}
	d.configAt = time.Now()
	var members []string
	for _, peer := range d.peers {
		members = append(members, fmt.Sprintf(`{"deviceID": %q}`, peer))
	}
	text := `{"version": 37, "folders": [], "devices": [` + strings.Join(members, ",") + `]}`
	return fleet.ObservedConfig{JSON: []byte(text), Digest: fmt.Sprintf("digest of %d devices", len(members)),
		SeenAt: time.Now()}, nil
}

func (w *world) ConnectedPeers(_ context.Context, id fleet.DeviceID) (fleet.Peers, error) {
	w.mu.Lock()
	during := w.daemons[id].during
	w.daemons[id].during = nil
	w.mu.Unlock()
	if during != nil {
		during()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return fleet.PeersOf(slices.Clone(w.daemons[id].connected)), nil
}

func (w *world) RevocationProofs(_ context.Context, revoked fleet.DeviceID) (all []fleet.RevocationProof, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for of, proof := range w.proofs {
		if of.Revoked == revoked {
			all = append(all, proof)
		}
	}
	return all, nil
}

func (w *world) PutRevocationProofs(_ context.Context, revoked fleet.DeviceID, proofs []fleet.RevocationProof) (
	[]fleet.RevocationProof, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failing || w.refused[revoked] {
		return nil, errors.New("the disk is full")
	}
	if w.leftOut {
		return nil, nil
	}
	for _, proof := range proofs {
		w.puts++
		w.proofs[Pair{revoked, proof.Device}] = proof
		if !proof.Proven() {
			w.returns = append(w.returns, Pair{revoked, proof.Device})
		}
	}
	return proofs, nil
}

func (w *world) lastConfig(_ context.Context, id fleet.DeviceID) (fleet.ObservedConfig, error) {
	text, is := w.configs[id]
	if !is {
		return fleet.ObservedConfig{}, fleet.NotFoundf("no configuration")
	}
	return fleet.ObservedConfig{JSON: []byte(text), SeenAt: time.Now()}, nil
}

func (w *world) prover() *Prover {
	return New(Options{Registry: w.Registry, Proofs: w, Daemons: w, TakeSeen: w.TakeSeen, LastConfig: w.lastConfig,
		Log: slog.New(slog.NewTextHandler(&w.log, nil))})
}

// run starts a Prover. The test's end stops it.
func (w *world) run() *Prover {
	p := w.prover()
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := p.Run(ctx); !errors.Is(err, context.Canceled) {
			w.t.Errorf("it ended with %v", err)
		}
	}()
	w.t.Cleanup(func() { cancel(); <-ended })
	return p
}

// change changes a daemon, and tells the Prover that its snapshot changed.
func (w *world) change(p *Prover, id fleet.DeviceID, how func(*daemon)) {
	w.mu.Lock()
	how(w.daemons[id])
	w.daemons[id].configAt = time.Now()
	for _, peer := range w.daemons[id].peers {
		if w.registry.IsRevoked(peer) {
			w.seen[Pair{peer, id}] = time.Now()
		}
	}
	w.mu.Unlock()
	p.Changed(id)
}

func (w *world) TakeSeen() map[Pair]time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen = map[Pair]time.Time{}
	return seen
}

// counted returns how often daemons were read and proofs were put.
func (w *world) counted() (reads, puts int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reads, w.puts
}

func (w *world) later(time_ time.Duration) {
	time.Sleep(time_) // in the bubble
	synctest.Wait()
}

func whole(fleet.DeviceID) bool { return true }

func (w *world) certificate(p *Prover) Certificate {
	w.t.Helper()
	registry, _ := w.Registry(w.t.Context())
	c, err := p.Certificate(w.t.Context(), registry, registry.Revocations[lost], whole)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// row is what a certificate says of one daemon.
func (w *world) row(p *Prover, id fleet.DeviceID) Row {
	w.t.Helper()
	c := w.certificate(p)
	at := slices.IndexFunc(c.Rows, func(row Row) bool { return row.Device == id })
	if at < 0 {
		w.t.Fatalf("the certificate has no row of %s", id)
	}
	return c.Rows[at]
}
