package stsim

import (
	"math"
	"time"
)

const (
	restartThreshold = 5.0              // restarts, decayed, after which the supervisor backs off
	restartHalfLife  = 30 * time.Second // a restart counts half after this
)

// supervisor decides how long the API stays down when it restarts, as the daemon's does (thejerf/suture, whose rule
// this is): tried on 1.19.2, the sixth gui change within three seconds closes the API for 15 to 18 seconds.
type supervisor struct {
	restarts float64
	last     time.Time
}

// pause is the time to wait before the API listens again.
func (s *supervisor) pause(now time.Time, backoff time.Duration) time.Duration {
	if !s.last.IsZero() {
		s.restarts *= math.Pow(0.5, float64(now.Sub(s.last))/float64(restartHalfLife))
	}
	s.last = now
	s.restarts++
	if s.restarts <= restartThreshold {
		return 0
	}
	s.restarts = 0
	return backoff
}
