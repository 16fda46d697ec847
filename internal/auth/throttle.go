package auth

import (
	"fmt"
	"math"
	"net/netip"
	"sync"
	"time"

	"muster/internal/fleet"
)

// rate lets burst attempts through at once, and one more after each interval.
type rate struct {
	burst    int
	interval time.Duration
}

// The limits of log-ins that fail. One that succeeds counts for none of them.
var (
	perAccount = rate{10, 30 * time.Second}
	perAddress = rate{30, 5 * time.Second}
	inAll      = rate{100, time.Second}
	perKnown   = rate{10, 30 * time.Second} // of an account, from clients that logged in to it before
)

// throttle limits the attempts to log in. It is memory of this process only: a restart forgives what was tried.
//
// A client that logged in to an account before proves that with its device cookie, and has a limit of its own: what
// others try does not keep it out.
type throttle struct {
	mu sync.Mutex
	// counters are guarded by mu. A counter is the time when as many attempts are possible again as ever. One that is
	// over is deleted, and inAll bounds how many are added: the map stays small whatever is tried.
	counters map[counter]time.Time
}

// counter is what attempts are counted for.
type counter struct {
	rate rate
	of   string
}

func newThrottle() *throttle { return &throttle{counters: map[counter]time.Time{}} }

// attempt is one try to log in.
type attempt struct {
	account string // hash of the name, whether or not there is such a user
	address string
	known   bool // the client logged in to the account before
}

func (a attempt) counters() []counter {
	if a.known {
		return []counter{{perKnown, "known " + a.account}}
	}
	return []counter{{perAccount, "account " + a.account}, {perAddress, "address " + network(a.address)}, {inAll, "all"}}
}

// begin counts an attempt, or answers too_many and counts nothing.
func (t *throttle) begin(a attempt, now time.Time) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(now)
	var wait time.Duration
	for _, c := range a.counters() {
		full := time.Duration(c.rate.burst) * c.rate.interval
		wait = max(wait, t.until(c, now).Sub(now)+c.rate.interval-full)
	}
	if wait > 0 {
		return tooManyAttempts(wait)
	}
	for _, c := range a.counters() {
		t.counters[c] = t.until(c, now).Add(c.rate.interval)
	}
	return nil
}

// until is a counter, now where it is over. The caller holds mu.
func (t *throttle) until(c counter, now time.Time) time.Time {
	if until := t.counters[c]; until.After(now) {
		return until
	}
	return now
}

// forgive takes back what begin counted.
func (t *throttle) forgive(a attempt) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range a.counters() {
		if until, counted := t.counters[c]; counted {
			t.counters[c] = until.Add(-c.rate.interval)
		}
	}
}

// forgetAbove is how many counters there are before it is worth while to look for those that are over.
const forgetAbove = 1000

func (t *throttle) forget(now time.Time) {
	if len(t.counters) < forgetAbove {
		return
	}
	for c, until := range t.counters {
		if !until.After(now) {
			delete(t.counters, c)
		}
	}
}

func tooManyAttempts(wait time.Duration) error {
	seconds := int(math.Ceil(wait.Seconds()))
	return &fleet.Error{
		Code: fleet.CodeTooMany, Message: "there were too many attempts to log in",
		Hint: fmt.Sprintf("Try again in %d seconds, on a device where you logged in before, or by a log-in link: "+
			"`muster login-link` on the server's machine prints one.", seconds),
		RetryAfter: time.Duration(seconds) * time.Second,
	}
}

// network is what one client can have many addresses of: an IPv6 network of 64 bits, else the address itself.
func network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	if ip = ip.Unmap().WithZone(""); ip.Is4() {
		return ip.String()
	}
	prefix, err := ip.Prefix(64)
	if err != nil {
		return address
	}
	return prefix.String()
}
