package syncthing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	pieceBytes = 64 << 10
	bigAnswer  = 256 << 10 // an answer with more bytes than this must wait for BigAnswers
)

// pieces are reused buffers for bodies, so that long answers do not need new memory all the time.
var pieces = sync.Pool{New: func() any { return new([pieceBytes]byte) }}

// patience bounds the time and the memory that reading a body takes.
type patience struct {
	clock clock
	big   chan struct{}
}

// clock sets the time at which reading a body fails.
type clock interface{ SetReadDeadline(t time.Time) error }

// readBody reads the body of an answer within the limits.
func readBody(ctx context.Context, response *http.Response, k *call, l *Limits, p patience) ([]byte, error) {
	limit := k.maxBytes
	if response.StatusCode != http.StatusOK {
		limit = min(limit, l.SmallBytes) // The body is an error text.
	}
	passed := int64(0)
	if k.stripper != nil && response.StatusCode == http.StatusOK {
		passed = l.PassedBytes
	}
	if response.ContentLength > limit+passed {
		return nil, tooLarge(limit)
	}
	paced := pacedReader{clock: p.clock, body: response.Body, wait: k.wait, began: time.Now(), limits: l}
	b := body{paced: paced, limit: limit, big: p.big}
	if passed > 0 {
		b.stripper, b.spare = k.stripper, passed
	}
	b.held = b.usual[:0]
	defer b.release()
	return b.read(ctx)
}

func tooLarge(limit int64) error {
	return unbelievable(fmt.Sprintf("its answer is larger than %d bytes", limit))
}

// body is a body that is being read.
type body struct {
	paced    pacedReader
	limit    int64           // memory for the bytes that are kept
	spare    int64           // how many bytes the stripper may still remove
	stripper *configStripper // nil: nothing is removed
	big      chan struct{}   // nil: large answers need not wait

	first [1]byte
	size  int64   // bytes that were kept
	held  []part  // the kept bytes
	usual [1]part // the memory of held, because few answers are longer than one piece
	turn  bool    // this answer may be large
}

// part is a piece of a body, and how many of its bytes are kept. The bytes after those were read and then removed.
type part struct {
	piece *[pieceBytes]byte
	used  int
	dirty int // bytes that were read into the piece
}

// read allocates memory only when there are bytes to put into it, because most bodies belong to long polls that wait.
func (b *body) read(ctx context.Context) ([]byte, error) {
	switch _, err := b.fill(b.first[:]); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, err
	}
	b.size = int64(b.strip(b.first[:]))
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
		kept := b.strip(piece[:n])
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

// strip moves the wanted bytes to the front of p and returns their number.
func (b *body) strip(p []byte) int {
	if b.stripper == nil {
		return len(p)
	}
	return b.stripper.strip(p)
}

// hold keeps the bytes of a part, and copies them into the last part if they fit there. It then returns the piece,
// which is free for reuse.
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

// discard clears a piece and makes it available again. It must be cleared because answers contain secrets.
func discard(piece *[pieceBytes]byte, dirty int) {
	clear(piece[:dirty])
	pieces.Put(piece)
}

// fill reads until p is full. It returns every error of the body, also io.EOF.
func (b *body) fill(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var more int
		more, err = b.paced.Read(p[n:])
		n += more
	}
	if n == len(p) && errors.Is(err, io.EOF) {
		return n, nil // The same error is returned by the next call.
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
	b.paced.began, b.paced.read = time.Now(), 1 // Waiting for a turn must not count as slowness of the daemon.
	return nil
}

// whole joins the kept bytes.
func (b *body) whole() []byte {
	all := append(make([]byte, 0, b.size), b.first[0])
	for _, part := range b.held {
		all = append(all, part.piece[:part.used]...)
	}
	return all
}

// release makes the memory available again.
func (b *body) release() {
	for _, part := range b.held {
		discard(part.piece, part.dirty)
	}
	if b.turn {
		<-b.big
	}
}

// pacedReader fails when a body arrives too slowly: after the grace period below the minimum rate on average, or when
// it takes longer than the limit for the whole body. The time starts with the first byte, because the header of a long
// poll arrives at once and its body only when there are events.
type pacedReader struct {
	clock  clock
	body   io.Reader
	wait   time.Duration // limit for the first byte
	began  time.Time
	read   int64
	limits *Limits
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
