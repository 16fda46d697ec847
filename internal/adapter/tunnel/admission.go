package tunnel

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sync"
	"time"
)

// Limits bound the tunnels of devices that are not accepted. "Per address" means per IPv4 address or per IPv6 network
// of 64 bits.
type Limits struct {
	Arriving           int // tunnels of devices that are not registered, before they are admitted
	ArrivingPerAddress int
	Waiting            int // tunnels of devices that wait to be accepted
	WaitingPerAddress  int
	Hello              time.Duration // time for the agent of an unregistered device to send its Hello
}

// DefaultLimits have room for an office whose machines are all installed at the same time. One address can open ten
// connections a second without blocking others, because silent ones are closed after Hello.
var DefaultLimits = Limits{Arriving: 256, ArrivingPerAddress: 64, Waiting: 256, WaitingPerAddress: 32,
	Hello: 5 * time.Second}

// returningPerDevice is how many tunnels one registered device may have before they are admitted.
const returningPerDevice = 8

// LimitsWithin returns the default limits, reduced to at most `most` tunnels of devices that are not accepted.
func LimitsWithin(most int) Limits {
	l, half := DefaultLimits, max(most/2, 1)
	l.Arriving, l.Waiting = min(l.Arriving, half), min(l.Waiting, half)
	return l
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits
	return Limits{
		Arriving:           cmp.Or(l.Arriving, d.Arriving),
		ArrivingPerAddress: cmp.Or(l.ArrivingPerAddress, d.ArrivingPerAddress),
		Waiting:            cmp.Or(l.Waiting, d.Waiting),
		WaitingPerAddress:  cmp.Or(l.WaitingPerAddress, d.WaitingPerAddress),
		Hello:              cmp.Or(l.Hello, d.Hello),
	}
}

// quotas count the tunnels that are not accepted. Each such tunnel counts in one quota at a time. The quotas are
// separate so that unregistered devices cannot block registered ones, and waiting devices cannot block agents with an
// enrol key.
type quotas struct {
	returning *quota // tunnels of registered devices before they are admitted, counted by device
	arriving  *quota // tunnels of other devices before they are admitted, counted by address
	waiting   *quota // tunnels of devices that wait, counted by address
}

func newQuotas(l Limits) quotas {
	return quotas{returning: newQuota(math.MaxInt, returningPerDevice),
		arriving: newQuota(l.Arriving, l.ArrivingPerAddress), waiting: newQuota(l.Waiting, l.WaitingPerAddress)}
}

// admission decides which connections may stay, and bounds the number of connections whose devices are not accepted.
type admission struct {
	options *Options
	quotas
}

// arrive counts a tunnel in a quota until it is admitted. It returns how long its agent has to send its Hello. The
// certificate proves the device.
func (a *admission) arrive(t *Tunnel) (within time.Duration, err error) {
	if !a.options.Known(t.device) {
		t.leave, err = a.arriving.enter(t.network)
		return a.options.Limits.Hello, err
	}
	if t.leave, err = a.returning.enter(string(t.device)); err == nil {
		t.isKnown()
	}
	return helloTimeout, err
}

// decide asks app for the status of a new tunnel.
func (a *admission) decide(ctx context.Context, t *Tunnel) error {
	ctx, cancel := context.WithTimeout(ctx, admitTimeout)
	defer cancel()
	status, err := a.options.Admit(ctx, Request{Device: t.device, Hello: t.hello, Address: t.address})
	if err != nil {
		return fmt.Errorf("admit the device: %w", err)
	}
	t.decided(status)
	return nil
}

// moveTo counts a tunnel in the quota for its status. Only waiting tunnels count then.
func (a *admission) moveTo(t *Tunnel, state State) (err error) {
	t.leave()
	switch state {
	case Accepted:
		t.isKnown()
	case Waiting:
		t.leave, err = a.waiting.enter(t.network)
	}
	return err
}

// quota counts tunnels, in all and by origin (a device or an address).
type quota struct {
	most, mostOfOne int

	mu   sync.Mutex // guards the fields below
	all  int
	from map[string]int
}

func newQuota(most, mostOfOne int) *quota {
	return &quota{most: most, mostOfOne: mostOfOne, from: map[string]int{}}
}

// enter counts one tunnel more, or returns an error when there are too many. leave may be called twice.
func (c *quota) enter(from string) (leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all >= c.most || c.from[from] >= c.mostOfOne {
		return func() {}, errCrowded
	}
	c.all++
	c.from[from]++
	return sync.OnceFunc(func() { c.left(from) }), nil
}

func (c *quota) left(from string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.from[from]--; c.from[from] == 0 {
		delete(c.from, from)
	}
}
