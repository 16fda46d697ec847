package mirror

import (
	"math/rand/v2"
	"time"
)

const (
	firstPause = time.Second
	lastPause  = 40 * time.Second // with jitter a minute
	steadyFor  = time.Minute      // online for as long: the next loss starts with the first pause again
)

// backoff is the pause between attempts: from 1 s to 1 min, doubling, jittered so that a thousand daemons behind one
// line do not come back in step.
type backoff struct{ base time.Duration }

func (b *backoff) reset() { b.base = 0 }

func (b *backoff) next() time.Duration {
	b.base = min(max(2*b.base, firstPause), lastPause)
	return b.base + rand.N(b.base/2)
}
