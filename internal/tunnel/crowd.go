package tunnel

import (
	"cmp"
	"math"
	"sync"
	"time"
)

// Limits bound what agents can cost whose devices are not accepted. An address is one IPv4 address or one IPv6 network
// of 64 bits.
type Limits struct {
	Arriving           int // tunnels of devices that are not registered, until they are admitted
	ArrivingPerAddress int
	Waiting            int // tunnels of devices that wait to be accepted
	WaitingPerAddress  int
	Hello              time.Duration // for a device that is not registered, until its agent has introduced itself
}

// DefaultLimits leave room for the machines of an office that are installed at the same time. An address may begin ten
// connections a second for long: those that are silent leave room for others while they arrive.
var DefaultLimits = Limits{Arriving: 256, ArrivingPerAddress: 64, Waiting: 256, WaitingPerAddress: 32,
	Hello: 5 * time.Second}

// returningPerDevice is how many tunnels of one registered device may be there before they are admitted.
const returningPerDevice = 8

// LimitsWithin are the default limits for at most so many tunnels of devices that are not accepted.
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

// crowds count the tunnels that are not accepted. Each has a place in one of them at a time. Strangers take no places
// of registered devices, and those that wait take none of agents with an enrol key.
type crowds struct {
	returning *crowd // of registered devices, by device, until they are admitted
	arriving  *crowd // of other devices, by address, until they are admitted
	waiting   *crowd // of devices that wait, by address
}

func newCrowds(l Limits) crowds {
	return crowds{returning: newCrowd(math.MaxInt, returningPerDevice),
		arriving: newCrowd(l.Arriving, l.ArrivingPerAddress), waiting: newCrowd(l.Waiting, l.WaitingPerAddress)}
}

// arrive gives a tunnel its place until it is admitted. The certificate proves the device.
func (h *Hub) arrive(t *Tunnel) (err error) {
	t.known = h.o.Known(t.device)
	if t.known {
		if t.leave, err = h.crowds.returning.enter(string(t.device)); err == nil {
			t.isKnown()
		}
	} else {
		t.leave, err = h.crowds.arriving.enter(networkOf(t.remote).String())
	}
	return err
}

// settle gives a tunnel the place for its status: only those that wait need one.
func (h *Hub) settle(t *Tunnel, state State) (err error) {
	t.leave()
	switch state {
	case Accepted:
		t.isKnown()
	case Waiting:
		t.leave, err = h.crowds.waiting.enter(networkOf(t.remote).String())
	}
	return err
}

func (h *Hub) helloTimeout(t *Tunnel) time.Duration {
	if t.known {
		return helloTimeout
	}
	return h.o.Limits.Hello
}

// crowd counts tunnels, in all and by where they come from.
type crowd struct {
	most, mostOfOne int

	mu   sync.Mutex // guards what follows
	all  int
	from map[string]int
}

func newCrowd(most, mostOfOne int) *crowd {
	return &crowd{most: most, mostOfOne: mostOfOne, from: map[string]int{}}
}

// enter counts one more. It is an error where there are too many already. To leave twice is fine.
func (c *crowd) enter(from string) (leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all >= c.most || c.from[from] >= c.mostOfOne {
		return func() {}, errCrowded
	}
	c.all++
	c.from[from]++
	return sync.OnceFunc(func() { c.left(from) }), nil
}

func (c *crowd) left(from string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all--
	if c.from[from]--; c.from[from] == 0 {
		delete(c.from, from)
	}
}
