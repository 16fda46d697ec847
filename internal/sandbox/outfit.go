package sandbox

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"muster/internal/template"
)

// outfit is what evaluations look at beside their device: made once per change, encoded at most once.
type outfit struct {
	fleet         *template.Fleet
	secrets       []string
	encodedFleet  func() ([]byte, error)
	secretsDigest func() string
}

func newOutfit(f *template.Fleet, secrets []string) *outfit {
	if f == nil {
		f = template.NewFleet(nil)
	}
	return &outfit{
		fleet: f, secrets: secrets,
		encodedFleet: sync.OnceValues(func() ([]byte, error) {
			body, err := json.Marshal(f.Devices())
			if err != nil {
				return nil, fmt.Errorf("encode fleet: %w", err)
			}
			return body, nil
		}),
		secretsDigest: sync.OnceValue(func() string {
			var all []byte
			for _, name := range secrets {
				all = appendText(all, name)
			}
			sum := sha256.Sum256(fmt.Appendf(all, "%t", secrets == nil))
			return string(sum[:])
		}),
	}
}

// SetFleet says what devices() and tags() see from now on.
func (p *Pool) SetFleet(f *template.Fleet) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outfit = newOutfit(f, p.outfit.secrets)
}

// SetSecrets says which names secret() takes; nil: any.
func (p *Pool) SetSecrets(names []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.outfit = newOutfit(p.outfit.fleet, slices.Clone(names))
}

// outfitFor is the current one, with another fleet where one is given.
func (p *Pool) outfitFor(f *template.Fleet) *outfit {
	p.mu.Lock()
	current := p.outfit
	p.mu.Unlock()
	if f == nil || f == current.fleet {
		return current
	}
	return newOutfit(f, current.secrets)
}
