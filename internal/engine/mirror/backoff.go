package mirror

import (
	"math/rand/v2"
	"time"
)

const (
	firstPause = time.Second
	lastPause  = 40 * time.Second // jitter makes it a minute at most
	// A device that was online for steadyFor begins with firstPause again when its connection is lost.
	steadyFor = time.Minute
)

// backoff is the pause between two attempts to connect. It doubles from 1 s to 1 min. It is jittered, so that a
// thousand daemons behind one line do not all connect at the same moment.
type backoff struct{ base time.Duration }

func (b *backoff) reset() { b.base = 0 }

func (b *backoff) next() time.Duration {
	b.base = min(max(2*b.base, firstPause), lastPause)
	return b.base + rand.N(b.base/2)
}
