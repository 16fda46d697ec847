package auth

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

const (
	guessBurst  = 20               // wrong tokens that an address may send at once
	guessEvery  = time.Second      // and then one in this time
	guessForget = 10 * time.Minute // an address that was quiet for so long starts anew
	guessMax    = 10_000           // addresses remembered; beyond, they share one allowance
)

// guesses counts wrong tokens by remote address: IPv4 by address, IPv6 by /64, which is what one customer gets.
type guesses struct {
	mu     sync.Mutex
	from   map[netip.Prefix]*guesser // guarded by mu
	others *rate.Limiter             // for addresses beyond guessMax
	swept  time.Time                 // guarded by mu
}

type guesser struct {
	limit *rate.Limiter
	last  time.Time
}

func newGuesses() *guesses {
	return &guesses{from: map[netip.Prefix]*guesser{}, others: newGuessLimit()}
}

func newGuessLimit() *rate.Limiter { return rate.NewLimiter(rate.Every(guessEvery), guessBurst) }

// allow counts one wrong token and tells whether it may still be answered as such.
func (g *guesses) allow(remote string) bool {
	now := time.Now()
	who := network(remote)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.sweep(now)
	entry := g.from[who]
	if entry == nil {
		if len(g.from) >= guessMax {
			return g.others.AllowN(now, 1)
		}
		entry = &guesser{limit: newGuessLimit()}
		g.from[who] = entry
	}
	entry.last = now
	return entry.limit.AllowN(now, 1)
}

// sweep forgets who was quiet, once in guessForget.
func (g *guesses) sweep(now time.Time) {
	if now.Sub(g.swept) < guessForget {
		return
	}
	g.swept = now
	for who, entry := range g.from {
		if now.Sub(entry.last) > guessForget {
			delete(g.from, who)
		}
	}
}

// network is the address block of "host:port"; what cannot be read is one block of its own.
func network(remote string) netip.Prefix {
	host, _, err := net.SplitHostPort(remote)
	if err != nil {
		return netip.Prefix{}
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Prefix{}
	}
	ip = ip.Unmap().WithZone("")
	bits := 32
	if ip.Is6() {
		bits = 64
	}
	block, err := ip.Prefix(bits)
	if err != nil {
		return netip.Prefix{}
	}
	return block
}
