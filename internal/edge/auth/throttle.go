package auth

import (
	"fmt"
	"math"
	"net/netip"
	"sync"
	"time"

	"muster/internal/fleet"
)

// rate is a limit: so many attempts as burst says are possible at once, and one more after each interval.
type rate struct {
	burst    int
	interval time.Duration
}

// These are the limits of log-ins. Log-ins that succeed have one, too, because each costs a hash.
var (
	perAccount = rate{10, 30 * time.Second}
	perAddress = rate{30, 5 * time.Second}
	inAll      = rate{100, time.Second}
	perKnown   = rate{10, 30 * time.Second} // per account, for clients that logged in to it before
	perSuccess = rate{10, 10 * time.Second} // per account, for log-ins with the right password
)

// throttle limits the attempts to log in. It exists only in the memory of this process, so a restart forgets all
// attempts. It measures time by the uptime, which nobody can set: setting the clock back makes no client wait longer,
// and setting it forward ends no limit early.
//
// A client that logged in to an account before proves that with its device cookie. It has a limit of its own, so that
// the attempts of others do not lock it out.
type throttle struct {
	mu sync.Mutex
	// counters has, for each counter, the uptime at which all its attempts are possible again. It is guarded by mu. A
	// counter whose time has passed is deleted, and inAll limits how many counters are added, so the map stays small.
	counters map[counter]time.Duration
}

// counter is one limit for one account, address or other subject. `of` names the subject and its kind.
type counter struct {
	rate rate
	of   string
}

func newThrottle() *throttle { return &throttle{counters: map[counter]time.Duration{}} }

// attempt is one try to log in.
type attempt struct {
	account string // hash of the claimed name, whether or not it is a user's
	address string
	known   bool // the client logged in to the account before
}

func (a attempt) counters() []counter {
	if a.known {
		return []counter{{perKnown, "known " + a.account}}
	}
	return []counter{{perAccount, "account " + a.account}, {perAddress, "address " + network(a.address)}, {inAll, "all"}}
}

func (a attempt) refusal(wait time.Duration) error {
	return tooMany("there were too many attempts to log in", "on a device where you logged in before, or by a log-in "+
		"link: `muster login-link` on the server's machine prints one", wait)
}

// success is a log-in with the right password. Its text is the hash of the account's name. A log-in is counted as a
// success before the password is compared, while it has the account's turn (see accountQueues). If the password is
// wrong, the count is taken back, so wrong passwords lock nobody out.
type success string

func (s success) counters() []counter { return []counter{{perSuccess, "success " + string(s)}} }

func (success) refusal(wait time.Duration) error {
	return tooMany("this user logged in too often", "or go on with a session that has begun: its token is good for many "+
		"requests", wait)
}

// signOnTry is one attempt to log in by single sign-on. Its text is the client's address. The provider limits how many
// passwords are tried. This limit is for the requests that Muster sends to the provider.
type signOnTry string

func (s signOnTry) counters() []counter {
	return []counter{{perAddress, "single sign-on " + network(string(s))}, {inAll, "all of single sign-on"}}
}

func (signOnTry) refusal(wait time.Duration) error {
	return tooMany("there were too many attempts to log in", "or log in with a password", wait)
}

// deviceBeginning is the start of one log-in in a program. Its text is the client's address.
type deviceBeginning string

func (b deviceBeginning) counters() []counter {
	return []counter{{perAddress, "program " + network(string(b))}, {inAll, "all programs"}}
}

func (deviceBeginning) refusal(wait time.Duration) error {
	return tooMany("too many log-ins were begun", "or use a token", wait)
}

// deviceQuestion is one question of a program whether the person has answered. It is counted by the attempt's ID.
type deviceQuestion struct {
	attempt  string
	interval time.Duration
}

func (q deviceQuestion) counters() []counter {
	return []counter{{rate{2, q.interval}, "question " + q.attempt}}
}

func (q deviceQuestion) refusal(wait time.Duration) error {
	return tooMany("that was asked too often", "and every few seconds from then on", wait)
}

// limited is an act that the throttle counts. counters returns its limits. refusal returns the error if one of them is
// reached; wait is the time until the act is possible again.
type limited interface {
	counters() []counter
	refusal(wait time.Duration) error
}

// begin counts the act a. If a limit is reached, it counts nothing and returns the refusal (too_many). now is the
// uptime.
func (t *throttle) begin(a limited, now time.Duration) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forget(now)
	var wait time.Duration
	for _, c := range a.counters() {
		full := time.Duration(c.rate.burst) * c.rate.interval
		wait = max(wait, t.until(c, now)-now+c.rate.interval-full)
	}
	if wait > 0 {
		return a.refusal(wait)
	}
	for _, c := range a.counters() {
		t.counters[c] = t.until(c, now) + c.rate.interval
	}
	return nil
}

// until returns the value of a counter, or now if that has passed. The caller holds mu.
func (t *throttle) until(c counter, now time.Duration) time.Duration { return max(t.counters[c], now) }

// forgive takes back what begin counted for an act.
func (t *throttle) forgive(a limited) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range a.counters() {
		if until, counted := t.counters[c]; counted {
			t.counters[c] = until - c.rate.interval
		}
	}
}

// forgetAbove is the number of counters from which forget deletes those whose time has passed.
const forgetAbove = 1000

func (t *throttle) forget(now time.Duration) {
	if len(t.counters) < forgetAbove {
		return
	}
	for c, until := range t.counters {
		if until <= now {
			delete(t.counters, c)
		}
	}
}

func tooMany(message, otherwise string, wait time.Duration) error {
	seconds := int(math.Ceil(wait.Seconds()))
	return &fleet.Error{
		Code: fleet.CodeTooMany, Message: message, RetryAfter: time.Duration(seconds) * time.Second,
		Hint: fmt.Sprintf("Try again in %d seconds, %s.", seconds, otherwise),
	}
}

// network returns the part of an IP address that counts as one client: for IPv6 the 64-bit prefix, because a client
// may have all addresses in it. Other addresses are returned unchanged.
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
