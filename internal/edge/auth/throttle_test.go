package auth

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"muster/internal/fleet"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// begun is how long the process runs already.
const begun = 12 * time.Hour

// spend makes attempts until one is refused, and gives how many were not.
func spend(t *testing.T, limits *throttle, at time.Duration, next func(n int) limited) int {
	t.Helper()
	for n := range 100_000 {
		if err := limits.begin(next(n), at); err != nil {
			var e *fleet.Error
			if !errors.As(err, &e) || e.Code != fleet.CodeTooMany || e.RetryAfter <= 0 || e.Hint == "" {
				t.Errorf("got %v, want too_many with the time to wait", err)
			}
			return n
		}
	}
	t.Fatal("there is no limit")
	return 0
}

func TestAttemptsAreLimitedPerAccountPerAddressAndInAll(t *testing.T) {
	for name, test := range map[string]struct {
		next func(n int) limited
		want rate
	}{
		"account": {func(n int) limited { return attempt{account: "a", address: fmt.Sprint("192.0.2.", n)} }, perAccount},
		"address": {func(n int) limited { return attempt{account: fmt.Sprint(n), address: "192.0.2.1"} }, perAddress},
		"one network": {func(n int) limited {
			return attempt{account: fmt.Sprint(n), address: fmt.Sprintf("2001:db8::%x", n)}
		}, perAddress},
		"in all": {func(n int) limited { return attempt{account: fmt.Sprint(n), address: fmt.Sprint(n)} }, inAll},
		"known":  {func(int) limited { return attempt{account: "a", address: "192.0.2.1", known: true} }, perKnown},
		"right":  {func(int) limited { return success("a") }, perSuccess},
	} {
		t.Run(name, func(t *testing.T) {
			limits := newThrottle()
			if got := spend(t, limits, begun, test.next); got != test.want.burst {
				t.Errorf("got %d attempts at once, want %d", got, test.want.burst)
			}
			later := begun + 3*test.want.interval
			if got := spend(t, limits, later, test.next); got != 3 {
				t.Errorf("got %d attempts after three intervals, want 3", got)
			}
			for range 1000 { // what is refused makes nobody wait longer
				_ = limits.begin(test.next(0), later)
			}
			if err := limits.begin(test.next(0), later+test.want.interval); err != nil {
				t.Errorf("got %v after an interval", err)
			}
		})
	}
}

// An attacker tries as fast as the limits allow, for half a day. Devices that logged in before are not kept out for a
// moment, and it costs little memory.
func TestAnAttackerKeepsNoKnownDeviceOut(t *testing.T) {
	limits, most := newThrottle(), 0
	user := attempt{account: "anna", address: "192.0.2.1", known: true} // at the address of the attacker
	for n := range 12 * 60 {
		at := begun + time.Duration(n)*time.Minute
		spend(t, limits, at, func(int) limited { return attempt{account: "anna", address: "192.0.2.1"} })
		spend(t, limits, at, func(i int) limited { return attempt{account: fmt.Sprint(n, i), address: fmt.Sprint(n, i)} })
		if n%60 == 0 { // once an hour, with a mistyped password first
			for range 2 {
				if err := limits.begin(user, at); err != nil {
					t.Fatalf("after %d minutes: %v", n, err)
				}
			}
			limits.forgive(user)
		}
		most = max(most, len(limits.counters))
	}
	if most > 2*forgetAbove {
		t.Errorf("got %d counters at a time", most)
	}
}

func TestALogInThatSucceedsIsNoFailure(t *testing.T) {
	limits := newThrottle()
	for range 10 * perAccount.burst {
		if err := limits.begin(attempt{account: "a", address: "192.0.2.1"}, begun); err != nil {
			t.Fatal(err)
		}
		limits.forgive(attempt{account: "a", address: "192.0.2.1"})
	}
}
