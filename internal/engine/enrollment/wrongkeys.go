package enrollment

import (
	"context"
	"sync"
	"time"

	"muster/internal/fleet"
)

// Limit of attempts with unknown enrol keys.
const (
	wrongKeysOfAddress     = 60 // attempts at once; one more is possible after each interval
	wrongKeysOfAddressEach = time.Second
	maxWrongKeys           = 1024 // wrong keys that are remembered
)

// wrongKeys bounds how many unknown enrol keys one address can try. The same wrong key again is not a further guess:
// the machines of an office may all have a key that was revoked.
type wrongKeys struct {
	ofAddress *limit

	mu    sync.Mutex
	wrong map[string]bool // hashes of the last wrong keys; guarded by mu
}

func newWrongKeys() *wrongKeys {
	return &wrongKeys{wrong: map[string]bool{}, ofAddress: newLimit(wrongKeysOfAddress, wrongKeysOfAddressEach,
		"too many enrol keys that are not known came from this address")}
}

// count counts a wrong enrol key that came from an address.
func (g *wrongKeys) count(origin, text string) {
	hash := fleet.EnrollKeyHash(text)
	g.mu.Lock()
	again := g.wrong[hash]
	if len(g.wrong) >= maxWrongKeys {
		clear(g.wrong)
	}
	g.wrong[hash] = true
	g.mu.Unlock()
	if !again {
		_ = g.ofAddress.take(origin) // when the limit is reached, the address's next key is not looked at
	}
}

// RecogniseFrom is Recognise for an enrol key that came from an address. When too many wrong keys came from that
// address, no key from there is looked at for a while. Right keys are not counted, because a whole office may enrol
// at once.
func (e *Enrollments) RecogniseFrom(ctx context.Context, text, address string) (fleet.EnrollKey, error) {
	origin := network(address)
	if err := e.wrongKeys.ofAddress.check(origin); err != nil {
		return fleet.EnrollKey{}, err
	}
	key, err := e.Recognise(ctx, text)
	if key.Hash == "" && fleet.CodeOf(err) == fleet.CodeForbidden {
		e.wrongKeys.count(origin, text)
	}
	return key, err
}
