package enrollment

import (
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"muster/internal/fleet"
)

// Limits of renewals (Enrollments.Renew). Many machines may share an address, behind NAT or a proxy.
const (
	renewalsOfAddress     = 60 // renewals at once; one more is possible after each interval
	renewalsOfAddressEach = time.Second
	renewalsOfDevice      = 6
	renewalsOfDeviceEach  = 10 * time.Second
	tooManyRenewals       = "too many renewals came from this address or device"
)

// maxCounted bounds how many addresses or devices are counted by themselves.
const maxCounted = 4096

// limit allows burst requests of one origin (an address or a device) at once, and one more after each interval.
type limit struct {
	burst    int
	interval time.Duration
	message  string // message of the error when the limit is reached

	mu sync.Mutex
	of map[string]*rate.Limiter // guarded by mu
}

func newLimit(burst int, interval time.Duration, message string) *limit {
	return &limit{burst: burst, interval: interval, message: message, of: map[string]*rate.Limiter{}}
}

// take counts a request. When the limit is reached it is too_many, and counts nothing.
func (l *limit) take(origin string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	turn := l.limiter(origin).Reserve()
	wait := turn.Delay()
	if wait == 0 {
		return nil
	}
	turn.Cancel()
	return l.refusal(wait)
}

// check is too_many when take would be. It counts nothing.
func (l *limit) check(origin string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if missing := 1 - l.limiter(origin).Tokens(); missing > 0 {
		return l.refusal(time.Duration(missing * float64(l.interval)))
	}
	return nil
}

func (l *limit) refusal(wait time.Duration) error {
	seconds := int(math.Ceil(wait.Seconds()))
	return &fleet.Error{Code: fleet.CodeTooMany, RetryAfter: time.Duration(seconds) * time.Second,
		Message: l.message, Hint: fmt.Sprintf("Try again in %d seconds.", seconds)}
}

// limiter returns the limiter of an origin. When there are too many, those without recent requests are forgotten. If
// that frees none, all further origins share one. The caller holds mu.
func (l *limit) limiter(origin string) *rate.Limiter {
	if l.of[origin] == nil && len(l.of) >= maxCounted {
		for other, counted := range l.of {
			if counted.Tokens() >= float64(l.burst) {
				delete(l.of, other)
			}
		}
		if len(l.of) >= maxCounted {
			origin = ""
		}
	}
	if l.of[origin] == nil {
		l.of[origin] = rate.NewLimiter(rate.Every(l.interval), l.burst)
	}
	return l.of[origin]
}
