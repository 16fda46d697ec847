package tunnel

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"muster/internal/fleet"
)

// How often what becomes of agents is told, in the events and in the log. What is left out is counted.
const (
	newsOfDevice      = 4 // of one registered device at once
	newsOfDeviceEach  = 20 * time.Second
	newsOfOthers      = 50 // of all devices that are not registered
	newsOfOthersEach  = time.Second
	newsLeftOutLogged = time.Minute
)

// NewsLimit keeps agents that come and go from filling the events and the log.
type NewsLimit struct {
	mu       sync.Mutex // guards what follows
	ofDevice map[fleet.DeviceID]*rate.Limiter
	others   *rate.Limiter
	leftOut  int
	loggedAt time.Time
}

// NewNewsLimit is one that has let nothing through yet.
func NewNewsLimit() *NewsLimit {
	return &NewsLimit{ofDevice: map[fleet.DeviceID]*rate.Limiter{},
		others: rate.NewLimiter(rate.Every(newsOfOthersEach), newsOfOthers)}
}

// Admit tells whether news may be told, where the device is one of so many that are registered (0: it is not), and
// gives how many were left out, once in a while.
func (l *NewsLimit) Admit(id fleet.DeviceID, registered int, now time.Time) (told bool, leftOut int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	limit := l.others
	if registered > 0 {
		if limit = l.ofDevice[id]; limit == nil {
			if len(l.ofDevice) > registered {
				clear(l.ofDevice) // it has devices that are registered no more
			}
			limit = rate.NewLimiter(rate.Every(newsOfDeviceEach), newsOfDevice)
			l.ofDevice[id] = limit
		}
	}
	if told = limit.AllowN(now, 1); !told {
		l.leftOut++
	}
	if l.leftOut > 0 && now.Sub(l.loggedAt) >= newsLeftOutLogged {
		leftOut, l.leftOut, l.loggedAt = l.leftOut, 0, now
	}
	return told, leftOut
}
