package copies

import (
	"encoding/json"
	"maps"
	"slices"
	"time"

	"muster/internal/fleet"
)

// keptFor is how long a proof is kept that is not renewed.
const keptFor = 180 * 24 * time.Hour

// keptLedger is a Ledger as it is stored.
type keptLedger struct {
	Devices []keptDevice `json:"devices"`
	Proofs  []keptProof  `json:"proofs"`
}

type keptDevice struct {
	ID       fleet.DeviceID `json:"id"`
	Started  int64          `json:"started"` // Unix nanoseconds
	Sequence int64          `json:"sequence"`
	Asked    int64          `json:"asked,omitempty"` // moment of the last reading, Unix milliseconds
	Plain    bool           `json:"plain,omitempty"`
}

// keptProof names the devices of a proof by their places in the list of devices.
type keptProof struct {
	Of    int   `json:"of"`
	On    int   `json:"on"`
	Grade Grade `json:"grade"`
	Until int64 `json:"until"` // Unix milliseconds
	Read  int64 `json:"read"`  // Unix milliseconds

	// The rest is the index of the first device, if it can be told from every later one.
	Started  int64 `json:"started,omitempty"` // Unix nanoseconds
	Changed  int64 `json:"changed,omitempty"` // Unix nanoseconds
	Sequence int64 `json:"sequence,omitempty"`
}

// Encode returns the ledger as it is stored. Proofs that were not renewed for a long time before now are left out.
func (l *Ledger) Encode(now time.Time) ([]byte, error) {
	var out keptLedger
	places := map[fleet.DeviceID]int{}
	for _, device := range slices.Sorted(maps.Keys(l.known)) {
		is := l.known[device]
		places[device] = len(out.Devices)
		out.Devices = append(out.Devices, keptDevice{ID: device, Started: is.started, Sequence: is.sequence,
			Asked: is.asked.UnixMilli(), Plain: is.plain})
	}
	for p, h := range l.held {
		if now.Sub(h.Until) <= keptFor {
			kept := keptProof{Of: places[p.of], On: places[p.on], Grade: h.Grade, Until: h.Until.UnixMilli(),
				Read: h.Read.UnixMilli()}
			if h.ripe {
				kept.Started, kept.Changed, kept.Sequence = h.of.started, h.of.changed, h.of.sequence
			}
			out.Proofs = append(out.Proofs, kept)
		}
	}
	return json.Marshal(out)
}

// DecodeLedger reads a stored ledger. Its proofs are restored ones: they are never extended, and are not of now.
func DecodeLedger(body []byte) (l Ledger, err error) {
	var in keptLedger
	if err := json.Unmarshal(body, &in); err != nil {
		return l, err
	}
	l = Ledger{held: map[pair]proof{}, known: map[fleet.DeviceID]life{}}
	for _, device := range in.Devices {
		is := life{index: index{started: device.Started, sequence: device.Sequence}, plain: device.Plain}
		if device.Asked > 0 {
			is.asked = time.UnixMilli(device.Asked).UTC()
		}
		l.known[device.ID] = is
	}
	for _, kept := range in.Proofs {
		places := len(in.Devices)
		isIn := kept.Of >= 0 && kept.Of < places && kept.On >= 0 && kept.On < places && kept.Of != kept.On
		if !isIn || kept.Grade != Agrees && kept.Grade != Proven {
			return Ledger{}, fleet.Invalidf("proofs", "a stored proof names no device or no grade that is known")
		}
		held := Holding{Grade: kept.Grade, Until: time.UnixMilli(kept.Until).UTC(), Read: time.UnixMilli(kept.Read).UTC(),
			Past: true}
		of := index{started: kept.Started, changed: kept.Changed, sequence: kept.Sequence}
		l.held[pair{in.Devices[kept.Of].ID, in.Devices[kept.On].ID}] = proof{Holding: held, of: of, ripe: kept.Changed != 0}
	}
	return l, nil
}
