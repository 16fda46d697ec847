package enrollment

import (
	"fmt"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"muster/internal/fleet"
)

// The limits of renewals. Many machines may share an address, behind NAT or a proxy.
const (
	renewalsOfAddress     = 60 // at once, and one more after each interval
	renewalsOfAddressEach = time.Second
	renewalsOfDevice      = 6
	renewalsOfDeviceEach  = 10 * time.Second
	tooManyRenewals       = "too many renewals came from this address or device"
)

// maxCounted bounds how many addresses or devices are counted by themselves.
const maxCounted = 4096

// limit lets burst requests of one origin through at once, and one more after each interval.
type limit struct {
	burst    int
	interval time.Duration
	message  string // of the refusal

	mu sync.Mutex
	of map[string]*rate.Limiter // guarded by mu
}

func newLimit(burst int, interval time.Duration, message string) *limit {
	return &limit{burst: burst, interval: interval, message: message, of: map[string]*rate.Limiter{}}
}

// take counts a request, or answers too_many and counts nothing.
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

// check answers too_many where take would. It counts nothing.
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

// limiter is that of an origin. Where there are too many, those that are as good as new are forgotten; if none is, all
// further origins share one. The caller holds mu.
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
