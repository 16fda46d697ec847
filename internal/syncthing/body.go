package syncthing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	pieceBytes = 64 << 10
	bigAnswer  = 256 << 10 // bytes from which on an answer waits for its turn
)

// pieces are what bodies are read into, used again and again: answers without end do not need memory without end.
var pieces = sync.Pool{New: func() any { return new([pieceBytes]byte) }}

// patience is what bounds the time and the memory that a body takes.
type patience struct {
	clock clock
	big   chan struct{}
}

// clock ends the reading of a body at a time.
type clock interface{ SetReadDeadline(t time.Time) error }

// readBody reads the body of an answer within the limits.
func readBody(ctx context.Context, response *http.Response, k call, l Limits, p patience) ([]byte, error) {
	limit := k.maxBytes
	if response.StatusCode != http.StatusOK {
		limit = min(limit, l.SmallBytes) // an error text
	}
	passed := int64(0)
	if k.sifter != nil && response.StatusCode == http.StatusOK {
		passed = l.PassedBytes
	}
	if response.ContentLength > limit+passed {
		return nil, tooLarge(limit)
	}
	if encoding := response.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, unbelievable("it sends a compressed answer although none was asked for")
	}
	paced := pacedReader{clock: p.clock, body: response.Body, wait: k.wait, began: time.Now(), limits: l}
	b := body{paced: paced, limit: limit, big: p.big}
	if passed > 0 {
		b.sifter, b.spare = k.sifter, passed
	}
	b.held = b.usual[:0]
	defer b.release()
	return b.read(ctx)
}

func tooLarge(limit int64) error {
	return unbelievable(fmt.Sprintf("its answer is larger than %d bytes", limit))
}

// body is one that is being read.
type body struct {
	paced  pacedReader
	limit  int64         // of what is kept
	spare  int64         // bytes that the sifter may still leave out
	sifter *sifter       // nil: all is kept
	big    chan struct{} // nil when there is no need to wait for a turn

	first [1]byte
	size  int64   // of what is kept
	held  []part  // what came after the first byte
	usual [1]part // the memory of held: few answers are longer than a piece
	turn  bool    // to be big
}

// part is a piece, and how many of its bytes are in use. What was read into it beyond them was left out.
type part struct {
	piece *[pieceBytes]byte
	used  int
	dirty int // bytes that were read into it
}

// read takes memory only once there is something to put into it: most bodies are those of polls that hang.
func (b *body) read(ctx context.Context) ([]byte, error) {
	switch _, err := b.fill(b.first[:]); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, err
	}
	b.size = int64(b.sift(b.first[:]))
	var piece *[pieceBytes]byte
	dirty := 0
	defer func() {
		if piece != nil {
			discard(piece, dirty)
		}
	}()
	for {
		if b.size > bigAnswer {
			if err := b.waitForTurn(ctx); err != nil {
				return nil, err
			}
		}
		if piece == nil {
			piece, dirty = pieces.Get().(*[pieceBytes]byte), 0
		}
		n, err := b.fill(piece[:])
		dirty = max(dirty, n)
		kept := b.sift(piece[:n])
		b.spare -= int64(n - kept)
		piece = b.hold(part{piece, kept, dirty})
		switch {
		case err != nil && !errors.Is(err, io.EOF):
			return nil, err
		case b.size > b.limit, b.spare < 0:
			return nil, tooLarge(b.limit)
		case errors.Is(err, io.EOF):
			return b.whole(), nil
		}
	}
}

// sift keeps what is wanted at the front of p, and gives its length.
func (b *body) sift(p []byte) int {
	if b.sifter == nil {
		return len(p)
	}
	return b.sifter.sift(p)
}

// hold keeps what is in use of a part, in the last one where that has room. It returns the piece if that is free.
func (b *body) hold(p part) *[pieceBytes]byte {
	b.size += int64(p.used)
	if n := len(b.held); n > 0 && b.held[n-1].used+p.used <= pieceBytes {
		last := &b.held[n-1]
		copy(last.piece[last.used:], p.piece[:p.used])
		last.used += p.used
		last.dirty = max(last.dirty, last.used)
		return p.piece
	}
	b.held = append(b.held, p)
	return nil
}

// discard gives a piece back, without what was read into it: answers hold secrets.
func discard(piece *[pieceBytes]byte, dirty int) {
	clear(piece[:dirty])
	pieces.Put(piece)
}

// fill reads until p is full; any error is that of the body, io.EOF too.
func (b *body) fill(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var more int
		more, err = b.paced.Read(p[n:])
		n += more
	}
	if n == len(p) && errors.Is(err, io.EOF) {
		return n, nil // it comes again
	}
	return n, err
}

func (b *body) waitForTurn(ctx context.Context) error {
	if b.big == nil || b.turn {
		return nil
	}
	select {
	case b.big <- struct{}{}:
		b.turn = true
	case <-ctx.Done():
		return ctx.Err()
	}
	b.paced.began, b.paced.read = time.Now(), 1 // the wait was ours
	return nil
}

// whole puts together what was kept.
func (b *body) whole() []byte {
	all := append(make([]byte, 0, b.size), b.first[0])
	for _, part := range b.held {
		all = append(all, part.piece[:part.used]...)
	}
	return all
}

// release gives back the memory.
func (b *body) release() {
	for _, part := range b.held {
		discard(part.piece, part.dirty)
	}
	if b.turn {
		<-b.big
	}
}

// pacedReader cuts off a body that comes too slowly: after the grace, never less than the rate on average, and never
// longer than the body's limit. The clock starts with the first byte: the header of a poll comes at once, its body
// when there are events.
type pacedReader struct {
	clock  clock
	body   io.Reader
	wait   time.Duration // for the first byte
	began  time.Time
	read   int64
	limits Limits
}

func (p *pacedReader) Read(b []byte) (int, error) {
	earned := time.Duration(float64(p.read) / float64(p.limits.MinRate) * float64(time.Second))
	allowed := min(p.limits.Grace+earned, p.limits.Body)
	if p.read == 0 {
		allowed += p.wait
	}
	_ = p.clock.SetReadDeadline(p.began.Add(allowed))
	n, err := p.body.Read(b)
	if p.read == 0 {
		p.began = time.Now()
	}
	p.read += int64(n)
	return n, err
}
