package mirror

import (
	"math/rand/v2"
	"time"
)

const (
	firstPause = time.Second
	lastPause  = 40 * time.Second // jitter makes it a minute at most
	// If a device was online for at least steadyFor, the pauses after its connection is lost begin with firstPause again.
	steadyFor = time.Minute
)

// backoff computes the pause between two attempts to connect. The pause doubles from one second to 40 s. Jitter makes
// it longer by up to a half, so that a thousand daemons behind one line do not all connect at the same moment.
type backoff struct {
	base  time.Duration
	fixed time.Duration // see Options.RetryPause
}

func (b *backoff) reset() { b.base = 0 }

func (b *backoff) next() time.Duration {
	if b.fixed > 0 {
		return b.fixed
	}
	b.base = min(max(2*b.base, firstPause), lastPause)
	return b.base + rand.N(b.base/2)
}
