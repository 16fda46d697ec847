package discovery

import (
	"context"
	"encoding/json"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"muster/internal/fleet"
)

const (
	askedAtOnce     = 8 // neighbours that one look-up asks; the next look-up asks others
	neighboursPerS  = 20
	neighbourLimit  = 10 * time.Second
	sightingsLife   = time.Minute
	sightingsMinAge = 10 * time.Second // age of an answer below which its neighbour is not asked again
	maxNeighbours   = 512              // neighbours whose answers are kept
	maxSightings    = 2000             // devices that are kept from one neighbour's answer
	maxSystemBytes  = 1 << 20
)

// neighbourhood asks other managed daemons what they know about devices, each daemon only rarely.
type neighbourhood struct {
	allowLocal bool
	now        func() time.Time
	wanted     func(fleet.DeviceID) bool
	pace       *rate.Limiter

	mu      sync.Mutex // guards answers
	answers map[fleet.DeviceID]*sightings
}

// sightings is what one neighbour knows about the devices for which somebody looks.
type sightings struct {
	done  chan struct{} // closed once the rest may be read
	at    time.Time     // time at which the neighbour was asked
	about map[fleet.DeviceID][]syncAddress
}

func newNeighbourhood(allowLocal bool, now func() time.Time, wanted func(fleet.DeviceID) bool) *neighbourhood {
	return &neighbourhood{allowLocal: allowLocal, now: now, wanted: wanted,
		pace: rate.NewLimiter(neighboursPerS, neighboursPerS), answers: map[fleet.DeviceID]*sightings{}}
}

// wish is a device for which somebody looks.
type wish struct {
	id    fleet.DeviceID
	since time.Time // beginning of the search
	turn  int       // number of the look-up, which decides which neighbours are asked
}

// ask returns what some neighbours know about a device. why tells a person that none of them knows it.
func (n *neighbourhood) ask(ctx context.Context, source Neighbours, w wish) (found []syncAddress, why string,
	err error) {
	chosen := choose(source.Online(w.id), w.id, w.turn)
	if len(chosen) == 0 {
		return nil, "no other managed daemon is online to be asked", nil
	}
	answers := make([][]syncAddress, len(chosen))
	group, ctx := errgroup.WithContext(ctx)
	for i, neighbour := range chosen {
		group.Go(func() error {
			s, err := n.askOne(ctx, source, neighbour, w.since)
			if err == nil {
				answers[i] = s.about[w.id]
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, "", err
	}
	var all []syncAddress
	for _, addresses := range answers {
		all = append(all, addresses...)
	}
	if len(all) == 0 {
		return nil, "no other managed daemon that was asked knows it", nil
	}
	return all, "", nil
}

// choose takes the first daemons on the first turn, those after them on the next, and so on.
func choose(online []fleet.DeviceID, not fleet.DeviceID, turn int) []fleet.DeviceID {
	var others []fleet.DeviceID
	for _, id := range online {
		if id != not {
			others = append(others, id)
		}
	}
	if len(others) <= askedAtOnce {
		return others
	}
	var chosen []fleet.DeviceID
	for i := range askedAtOnce {
		chosen = append(chosen, others[((max(turn, 1)-1)*askedAtOnce+i)%len(others)])
	}
	return chosen
}

// askOne returns a neighbour's answer. It asks anew when the kept answer is too old, or older than the search for the
// device. An error of the neighbour counts as an empty answer.
func (n *neighbourhood) askOne(ctx context.Context, source Neighbours, neighbour fleet.DeviceID, since time.Time,
) (*sightings, error) {
	n.mu.Lock()
	kept := n.answers[neighbour]
	if kept == nil || n.stale(kept, since) {
		kept = &sightings{done: make(chan struct{}), at: n.now()}
		n.keep(neighbour, kept)
		n.mu.Unlock()
		n.read(ctx, source, neighbour, kept)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return kept, nil
	}
	n.mu.Unlock()
	select {
	case <-kept.done:
		return kept, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (n *neighbourhood) stale(s *sightings, since time.Time) bool {
	age := n.now().Sub(s.at)
	return age >= sightingsLife || age >= sightingsMinAge && s.at.Before(since)
}

// keep keeps an answer, and bounds how many are kept. The caller holds mu.
func (n *neighbourhood) keep(neighbour fleet.DeviceID, s *sightings) {
	if len(n.answers) >= maxNeighbours {
		for other, old := range n.answers {
			if n.now().Sub(old.at) >= sightingsLife || len(n.answers) >= maxNeighbours {
				delete(n.answers, other)
			}
		}
	}
	n.answers[neighbour] = s
}

// read asks the neighbour and fills in s, whatever the neighbour answers. When ctx ends first, nothing is kept.
func (n *neighbourhood) read(ctx context.Context, source Neighbours, neighbour fleet.DeviceID, s *sightings) {
	defer close(s.done)
	s.about = map[fleet.DeviceID][]syncAddress{}
	if err := n.pace.Wait(ctx); err != nil {
		n.drop(neighbour, s)
		return
	}
	limited, cancel := context.WithTimeout(ctx, neighbourLimit)
	defer cancel()
	if body, err := source.Connections(limited, neighbour); err == nil {
		n.readConnections(body, s.about)
	}
	if body, err := source.Discovery(limited, neighbour); err == nil {
		n.readDiscovery(body, s.about)
	}
	if ctx.Err() != nil {
		n.drop(neighbour, s)
	}
}

func (n *neighbourhood) drop(neighbour fleet.DeviceID, s *sightings) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.answers[neighbour] == s {
		delete(n.answers, neighbour)
	}
}

// readDiscovery reads an answer of /rest/system/discovery, which maps device IDs to addresses.
func (n *neighbourhood) readDiscovery(body []byte, about map[fleet.DeviceID][]syncAddress) {
	var answer map[string]struct {
		Addresses []string `json:"addresses"`
	}
	if len(body) > maxSystemBytes || json.Unmarshal(body, &answer) != nil {
		return
	}
	for text, entry := range answer {
		n.sight(text, entry.Addresses, about)
	}
}

// readConnections reads an answer of /rest/system/connections. When the neighbour made the connection, its port is
// the one on which the device listens. Otherwise the port is any, so the usual port is taken. A relay is not the
// device.
func (n *neighbourhood) readConnections(body []byte, about map[fleet.DeviceID][]syncAddress) {
	var answer struct {
		Connections map[string]struct {
			Address   string `json:"address"`
			Connected bool   `json:"connected"`
			Type      string `json:"type"`
		} `json:"connections"`
	}
	if len(body) > maxSystemBytes || json.Unmarshal(body, &answer) != nil {
		return
	}
	for text, c := range answer.Connections {
		kind, side, _ := strings.Cut(c.Type, "-")
		if !c.Connected || kind != "tcp" && kind != "quic" {
			continue
		}
		host, port, err := net.SplitHostPort(c.Address)
		if err != nil {
			continue
		}
		if side != "client" {
			kind, port = "tcp", "22000"
		}
		n.sight(text, []string{kind + "://" + net.JoinHostPort(host, port)}, about)
	}
}

func (n *neighbourhood) sight(device string, addresses []string, about map[fleet.DeviceID][]syncAddress) {
	id, err := fleet.ParseDeviceID(device)
	if err != nil || len(about) >= maxSightings || !n.wanted(id) {
		return
	}
	usable, _ := parseAddresses(addresses, netip.Addr{}, n.allowLocal)
	for _, a := range usable {
		if len(about[id]) < maxSyncAddresses && !contains(about[id], a) {
			about[id] = append(about[id], a)
		}
	}
}
