package discovery

import (
	"cmp"
	"context"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"muster/internal/fleet"
)

const (
	urgentLife = time.Minute
	maxUrgent  = 1000
)

// search is what is remembered about the search for one device.
type search struct {
	since  time.Time            // beginning of the search
	tried  map[string]time.Time // time at which each host was last given out
	proven string               // the host where the device was reached last
	turn   int                  // number of the present look-up
	found  map[*server]finding
}

// claim is what one source says about where a device is.
type claim struct {
	by        string
	addresses []syncAddress
}

// find asks the sources, first those that cost nothing. It asks the discovery servers when all hosts from other
// sources were given out before, or when all is true.
func (d *Discovery) find(ctx context.Context, device fleet.Device, all bool, others Neighbours) ([]Candidate,
	error) {
	switch {
	case device.APIAddress != "":
		return []Candidate{{Host: device.APIAddress, By: ByRecord, Introduced: fleet.ByPerson}}, nil
	case d.off:
		return nil, switchedOff()
	}
	since, turn := d.beginRound(device.ID)
	t := &searchReport{}
	var claims []claim
	if heard := d.local.about(device.ID); len(heard) > 0 {
		claims = append(claims, claim{ByLocal, heard})
	}
	t.local(d.localPort != 0)
	if others != nil {
		sighted, why, err := d.fleet.ask(ctx, others, wish{device.ID, since, turn})
		if err != nil {
			return nil, err
		}
		if len(sighted) > 0 {
			claims = append(claims, claim{ByFleet, sighted})
		}
		t.fleet(why)
	}
	if all || !d.untried(device.ID, claims) {
		found, err := d.askServers(ctx, device.ID, t)
		if err != nil {
			return nil, err
		}
		if len(found) > 0 {
			claims = append(claims, claim{ByGlobal, found})
		}
	}
	if len(claims) == 0 {
		return nil, t.notFound(d.now())
	}
	return candidates(claims), nil
}

// beginRound begins the search for a device, or its next look-up. since is when the search began, turn the number of
// the look-up.
func (d *Discovery) beginRound(id fleet.DeviceID) (since time.Time, turn int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	q := d.devices[id]
	if q == nil {
		q = &search{since: d.now(), tried: map[string]time.Time{}, found: map[*server]finding{}}
		d.devices[id] = q
	}
	q.turn++
	return q.since, q.turn
}

// untried reports whether the claims have a host that was not given out yet.
func (d *Discovery) untried(id fleet.DeviceID, claims []claim) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	q := d.devices[id]
	for _, c := range claims {
		for _, a := range c.addresses {
			if q == nil || q.tried[a.host].IsZero() {
				return true
			}
		}
	}
	return false
}

// next picks the candidate that was given out longest ago. Among equals the proven host comes first.
func (d *Discovery) next(id fleet.DeviceID, all []Candidate) Candidate {
	d.mu.Lock()
	defer d.mu.Unlock()
	q := d.devices[id]
	if q == nil { // Forget was called meanwhile.
		return all[0]
	}
	picked := slices.MinFunc(all, func(a, b Candidate) int {
		return cmp.Or(q.tried[a.Host].Compare(q.tried[b.Host]), cmp.Compare(rank(a.Host, q.proven), rank(b.Host, q.proven)))
	})
	for host := range q.tried { // forget hosts that no source names any more
		if !slices.ContainsFunc(all, func(c Candidate) bool { return c.Host == host }) {
			delete(q.tried, host)
		}
	}
	q.tried[picked.Host] = d.now()
	return picked
}

func rank(host, proven string) int {
	if host == proven {
		return 0
	}
	return 1
}

// askServers returns what the discovery servers say about a device, from memory where a server must not be asked again
// yet.
func (d *Discovery) askServers(ctx context.Context, id fleet.DeviceID, t *searchReport) ([]syncAddress, error) {
	urgent := d.takeUrgent(id)
	findings := make([]finding, len(d.servers))
	group, ctx := errgroup.WithContext(ctx)
	for i, s := range d.servers {
		group.Go(func() error {
			f, err := d.askServer(ctx, s, id, urgent)
			findings[i] = f
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var addresses []syncAddress
	for i, s := range d.servers {
		t.server(s.name, findings[i])
		addresses = append(addresses, findings[i].addresses...)
	}
	return addresses, nil
}

func (d *Discovery) askServer(ctx context.Context, s *server, id fleet.DeviceID, urgent bool) (finding, error) {
	if f, known := d.remembered(s, id); known {
		return f, nil
	}
	f, err := s.lookup(ctx, id, urgent)
	if err != nil {
		return finding{}, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if q := d.devices[id]; q != nil {
		q.found[s] = f
	}
	return f, nil
}

func (d *Discovery) remembered(s *server, id fleet.DeviceID) (finding, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	q := d.devices[id]
	if q == nil {
		return finding{}, false
	}
	f := q.found[s]
	return f, d.now().Before(f.until)
}

func (d *Discovery) takeUrgent(id fleet.DeviceID) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, urgent := d.urgent[id]
	delete(d.urgent, id)
	return urgent
}

// candidates returns one candidate for each claimed host. Each comes with all addresses at which the device may prove
// itself, those on its own host first.
func candidates(claims []claim) []Candidate {
	var hosts []Candidate
	var all []syncAddress
	for _, c := range claims {
		for _, a := range c.addresses {
			if !contains(all, a) {
				all = append(all, a)
			}
			at := slices.IndexFunc(hosts, func(known Candidate) bool { return known.Host == a.host })
			if at < 0 {
				at = len(hosts)
				hosts = append(hosts, Candidate{Host: a.host, By: c.by})
			}
			if c.by == ByGlobal {
				hosts[at].By, hosts[at].Introduced = ByGlobal, fleet.ByServer
			}
		}
	}
	for i := range hosts {
		own, others := []string{}, []string{}
		for _, a := range all {
			if a.host == hosts[i].Host {
				own = append(own, a.String())
			} else {
				others = append(others, a.String())
			}
		}
		slices.Sort(own)
		slices.Sort(others)
		addresses := append(own, others...)
		hosts[i].SyncAddresses = addresses[:min(len(addresses), maxSyncAddresses)]
	}
	return hosts
}
