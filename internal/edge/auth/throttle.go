package auth

import (
	"fmt"
	"math"
	"net/netip"
	"sync"
	"time"

	"muster/internal/fleet"
)

// rate allows burst attempts at once, and one more after each interval.
type rate struct {
	burst    int
	interval time.Duration
}

// Limits of log-ins that fail, and of those that succeed, because each costs a hash.
var (
	perAccount = rate{10, 30 * time.Second}
	perAddress = rate{30, 5 * time.Second}
	inAll      = rate{100, time.Second}
	perKnown   = rate{10, 30 * time.Second} // per account, for clients that logged in to it before
	perSuccess = rate{10, 10 * time.Second} // per account, for log-ins with the right password
)

// throttle limits the attempts to log in. It is in the memory of this process only, so a restart forgets all
// attempts. Its time is the uptime, which cannot be set: when the clock is set back no client has to wait for the
// difference, and setting the clock forward does not end a limit early.
//
// A client that logged in to an account before proves that with its device cookie, and has a limit of its own: the
// attempts of others do not keep it out.
type throttle struct {
	mu sync.Mutex
	// counters are guarded by mu. The value of a counter is the uptime from which on all attempts are possible again. A
	// counter whose value is past is deleted, and inAll bounds how many counters are added, so the map stays small.
	counters map[counter]time.Duration
}

// counter is one limit for one account, address or the like.
type counter struct {
	rate rate
	of   string
}

func newThrottle() *throttle { return &throttle{counters: map[counter]time.Duration{}} }

// attempt is one try to log in.
type attempt struct {
	account string // hash of the name, also where there is no such user
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

// success is a log-in to an account (the hash of its name) that has the right password or may have it. It is counted
// in the account's turn only. There a wrong password takes the count back, so wrong passwords keep nobody out.
type success string

func (s success) counters() []counter { return []counter{{perSuccess, "success " + string(s)}} }

func (success) refusal(wait time.Duration) error {
	return tooMany("this user logged in too often", "or go on with a session that has begun: its token is good for many "+
		"requests", wait)
}

// signOnTry is one attempt to log in by single sign-on, counted by the client's address. The provider counts the
// passwords that are tried; this limit bounds what Muster asks the provider.
type signOnTry string

func (s signOnTry) counters() []counter {
	return []counter{{perAddress, "single sign-on " + network(string(s))}, {inAll, "all of single sign-on"}}
}

func (signOnTry) refusal(wait time.Duration) error {
	return tooMany("there were too many attempts to log in", "or log in with a password", wait)
}

// deviceBeginning is the beginning of one log-in in a program, counted by the client's address.
type deviceBeginning string

func (b deviceBeginning) counters() []counter {
	return []counter{{perAddress, "program " + network(string(b))}, {inAll, "all programs"}}
}

func (deviceBeginning) refusal(wait time.Duration) error {
	return tooMany("too many log-ins were begun", "or use a token", wait)
}

// deviceQuestion is one question of a program whether the person has answered.
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

// limited is what the throttle counts.
type limited interface {
	counters() []counter
	refusal(wait time.Duration) error
}

// begin counts an attempt. Where the limit is reached it is too_many, and counts nothing. now is the uptime.
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

// until returns the value of a counter, or now where that is past. The caller holds mu.
func (t *throttle) until(c counter, now time.Duration) time.Duration { return max(t.counters[c], now) }

// forgive takes back what begin counted.
func (t *throttle) forgive(a limited) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range a.counters() {
		if until, counted := t.counters[c]; counted {
			t.counters[c] = until - c.rate.interval
		}
	}
}

// forgetAbove is from how many counters on it is worth while to look for those that are past.
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

// network returns the addresses of which one client may have many: an IPv6 network of 64 bits. Other addresses are
// given as they are.
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
