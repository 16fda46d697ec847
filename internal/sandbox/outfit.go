package sandbox

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"muster/internal/template"
)

// outfit is what evaluations look at beside their device and its configuration.
type outfit struct {
	*encodedFleet
	secrets       []string
	secretsDigest func() string
}

// encodedFleet is a fleet as workers get it: encoded at most once, when the first of them needs it.
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

func (p *Pool) outfitFor(f *template.Fleet, secrets []string) *outfit {
	return &outfit{encodedFleet: p.encoded(f), secrets: secrets, secretsDigest: sync.OnceValue(func() string {
		var all []byte
		for _, name := range secrets {
			all = appendText(all, name)
		}
		sum := sha256.Sum256(fmt.Appendf(all, "%t", secrets == nil))
		return string(sum[:])
	})}
}

// encoded finds a fleet among those that were asked for last, or takes it in.
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
