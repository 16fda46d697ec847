package enrollment

import (
	"context"
	"sync"
	"time"

	"muster/internal/fleet"
)

// The limit of keys that are not known.
const (
	guessesOfAddress     = 60 // at once, and one more after each interval
	guessesOfAddressEach = time.Second
	maxWrongKeys         = 1024 // that are remembered
)

// guesses bounds how many keys that are not known one address can try. The same wrong key again is no further guess:
// the machines of an office may all have one that was revoked.
type guesses struct {
	ofAddress *limit

	mu    sync.Mutex
	wrong map[string]bool // hashes of the last ones; guarded by mu
}

func newGuesses() *guesses {
	return &guesses{wrong: map[string]bool{}, ofAddress: newLimit(guessesOfAddress, guessesOfAddressEach,
		"too many enrol keys that are not known came from this address")}
}

// count counts a wrong key of an address.
func (g *guesses) count(origin, text string) {
	hash := fleet.EnrollKeyHash(text)
	g.mu.Lock()
	again := g.wrong[hash]
	if len(g.wrong) >= maxWrongKeys {
		clear(g.wrong)
	}
	g.wrong[hash] = true
	g.mu.Unlock()
	if !again {
		_ = g.ofAddress.take(origin) // where there is no room any more the next key is not looked at
	}
}

// RecogniseFrom is Recognise for a key that came from an address. Where too many wrong ones came from there, no key is
// looked at for a while. Right keys are not counted: a whole office may enrol at once.
func (e *Enrollments) RecogniseFrom(ctx context.Context, text, address string) (fleet.EnrollKey, error) {
	origin := network(address)
	if err := e.guesses.ofAddress.check(origin); err != nil {
		return fleet.EnrollKey{}, err
	}
	key, err := e.Recognise(ctx, text)
	if key.Hash == "" && fleet.CodeOf(err) == fleet.CodeForbidden {
		e.guesses.count(origin, text)
	}
	return key, err
}
