package syncthing

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
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

// readBody reads the body of an answer within the limits.
func (cn *conn) readBody(ctx context.Context, response *http.Response, k call, l Limits, big chan struct{}) ([]byte, error) {
	limit := k.maxBytes
	if response.StatusCode != http.StatusOK {
		limit = min(limit, l.SmallBytes) // an error text
	}
	if response.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	if encoding := response.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, unbelievable("it sends a compressed answer although none was asked for")
	}
	b := body{paced: pacedReader{conn: cn.tcp, body: response.Body, wait: k.wait, began: time.Now(), limits: l}, limit: limit, big: big}
	defer b.release()
	return b.read(ctx)
}

func tooLarge(limit int64) error {
	return unbelievable(fmt.Sprintf("its answer is larger than %d bytes", limit))
}

// body is one that is being read.
type body struct {
	paced pacedReader
	limit int64
	big   chan struct{} // nil when there is no need to wait for a turn

	first [1]byte
	held  []*[pieceBytes]byte // what came after the first byte
	turn  bool                // to be big
}

// read takes memory only once there is something to put into it: most bodies are those of polls that hang.
func (b *body) read(ctx context.Context) ([]byte, error) {
	switch _, err := b.fill(b.first[:]); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, err
	}
	for size := int64(1); ; size += pieceBytes {
		switch {
		case size > b.limit:
			return nil, tooLarge(b.limit)
		case size > bigAnswer:
			if err := b.waitForTurn(ctx); err != nil {
				return nil, err
			}
		}
		piece := pieces.Get().(*[pieceBytes]byte)
		b.held = append(b.held, piece)
		n, err := b.fill(piece[:])
		switch {
		case err == nil:
		case !errors.Is(err, io.EOF):
			return nil, err
		case size+int64(n) > b.limit:
			return nil, tooLarge(b.limit)
		default:
			return b.whole(n), nil
		}
	}
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

// whole puts together what was read, of which so many bytes are in the last piece.
func (b *body) whole(last int) []byte {
	full := b.held[:len(b.held)-1]
	all := append(make([]byte, 0, 1+len(full)*pieceBytes+last), b.first[0])
	for _, piece := range full {
		all = append(all, piece[:]...)
	}
	return append(all, b.held[len(full)][:last]...)
}

// release gives back the memory, without what stood there: answers hold secrets.
func (b *body) release() {
	for _, piece := range b.held {
		clear(piece[:])
		pieces.Put(piece)
	}
	if b.turn {
		<-b.big
	}
}

// pacedReader cuts off a body that comes too slowly: after the grace, never less than the rate on average, and never
// longer than the body's limit. The clock starts with the first byte: the header of a poll comes at once, its body when
// there are events.
type pacedReader struct {
	conn   net.Conn
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
	_ = p.conn.SetReadDeadline(p.began.Add(allowed))
	n, err := p.body.Read(b)
	if p.read == 0 {
		p.began = time.Now()
	}
	p.read += int64(n)
	return n, err
}
