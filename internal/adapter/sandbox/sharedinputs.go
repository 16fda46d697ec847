package sandbox

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"muster/internal/core/template"
)

// sharedInputs are the inputs that evaluations for different devices share: the fleet and the names of secrets.
type sharedInputs struct {
	*encodedFleet
	secrets       []string
	secretsDigest func() string
}

// encodedFleet is a fleet in the form in which workers get it. It is encoded at most once, when the first worker
// needs it.
type encodedFleet struct {
	fleet  *template.Fleet
	encode func() ([]byte, error)
}

// keptFleets is how many fleets are kept encoded: the present one, and those of generations that devices are still
// admitted to.
const keptFleets = 4

func newEncodedFleet(f *template.Fleet) *encodedFleet {
	return &encodedFleet{fleet: f, encode: sync.OnceValues(func() ([]byte, error) {
		body, err := json.Marshal(f.Devices())
		if err != nil {
			return nil, fmt.Errorf("encode fleet: %w", err)
		}
		return body, nil
	})}
}

var noFleet = newEncodedFleet(template.NewFleet(nil))

func (p *Pool) sharedInputsFor(f *template.Fleet, secrets []string) *sharedInputs {
	return &sharedInputs{encodedFleet: p.encoded(f), secrets: secrets, secretsDigest: sync.OnceValue(func() string {
		var all []byte
		for _, name := range secrets {
			all = appendText(all, name)
		}
		sum := sha256.Sum256(fmt.Appendf(all, "%t", secrets == nil))
		return string(sum[:])
	})}
}

// encoded returns the encodedFleet of a fleet: one of those asked for last, or a new one.
func (p *Pool) encoded(f *template.Fleet) *encodedFleet {
	if f == nil {
		return noFleet
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.IndexFunc(p.fleets, func(known *encodedFleet) bool { return known.fleet == f })
	found := newEncodedFleet(f)
	switch {
	case at == 0:
		return p.fleets[0]
	case at > 0:
		found = p.fleets[at]
		p.fleets = slices.Delete(p.fleets, at, at+1)
	case len(p.fleets) == keptFleets:
		p.fleets = p.fleets[:keptFleets-1]
	}
	p.fleets = slices.Insert(p.fleets, 0, found)
	return found
}
